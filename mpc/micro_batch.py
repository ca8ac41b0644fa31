"""Latency of a micro-batch engine (Spark's default), with the variability of batches and arrivals.

Kingman's idea at the level of batches: batch n gathers rows for a period P_n = max(I, D_n), with I
the trigger interval, and takes D_{n+1} = o X + (w + c * arrivals * P_n) / (n * f) * Y. X and Y vary
around one, the arrivals around their mean. A row waits for the rest of the period it came in and
for its own batch, and long periods hold more rows, so both moments of P count:

    R = E[P^2] / (2 E[P]) + E[P_n * D_{n+1}] / E[P]

The same moments give the share of rows that are late. All is finite everywhere, rises with arrivals
and never with capacity; a backlog from earlier steps is not part of it.
"""

import math
from typing import NamedTuple

import numpy as np

from forecasting.compiled import compiled_inline, compiled_unchecked
from mpc.values import ConfigurationSpace, FloatArray
from mpc.vector_math import FARTHEST, exponential, logarithm, logarithm_1p, normal_below

SATURATION = 0.98
"""Utilisation from which the pole at one is continued by its tangent."""
INHERITED_SPREAD = 0.15
"""Where batches take about as long as the interval, those that overrun inherit part of the spread
they would have back to back; fitted to the event-level plant (`bench latency-model`)."""
WRAPPED = 0.01
"""Delays below this share of the interval are never a whole interval long."""
FAR_TAIL = 8.5
"""Standard deviations beyond which a normal tail is nothing."""
NOTHING_S = 1e-100
"""Shorter times vanish when they are squared."""
NEWTON_STEPS, QUANTILE_TOLERANCE = 60, 1e-6


class BatchModel(NamedTuple):
    """All that the latency depends on besides the arrivals and the capacity n * f."""

    overhead_s: float
    """Of every batch, whatever the capacity: planning and commit."""
    row_cycles: float
    batch_cycles: float = 0.0
    """Work of every batch that the executors share, whatever its rows."""
    overhead_cv: float = 0.0
    work_cv: float = 0.0
    """Coefficients of variation, from batch to batch: of the overhead and of the cycles."""
    arrival_dispersion: float = 0.0
    """Index of dispersion of the arrivals over a period; 1 for a Poisson stream."""
    interval_s: float = 0.0
    """Of the trigger; 0: back to back."""
    step_s: float = 1.0
    quantile: float = 0.0
    """0: the mean latency is judged. Otherwise the latency that this share of the rows keeps."""


class _Load(NamedTuple):
    """One arrival rate on one capacity, as the recursion of the periods sees it."""

    utilisation: float
    """Below saturation; what exceeds it is in the scale."""
    scale: float
    """Tangent beyond saturation: overheads so many times as long."""
    overhead_s: float
    work_s: float
    overhead_variance: float
    """Of the overhead, squared seconds."""
    work_cv2: float
    dispersion_s: float
    """Variance of a batch's work by irregular arrivals, per second of its period."""
    overload_s: float


class _Periods(NamedTuple):
    """Two kinds of periods: those whose batch overran the trigger and those it was in time for."""

    overrun: float
    """Share of the periods that are as long as a batch; 1 back to back."""
    overrun_s: float
    overrun_s2: float
    """Second moment."""
    timely_s: float
    timely_variance: float


@compiled_unchecked
def batch_latency_s(arrivals_per_s: float, capacity_hz: float, model: BatchModel) -> float:
    """Mean latency of the rows, or the one that the share `model.quantile` of them keeps."""
    load = _load(arrivals_per_s, capacity_hz, model)
    periods = _periods(load, model.interval_s)
    if model.quantile > 0.0:
        return _quantile_s(load, periods, 1.0 - model.quantile) + load.overload_s
    return _mean_s(load, periods) + load.overload_s


@compiled_unchecked
def late_share(
    target_s: float, arrivals_per_s: float, capacity_hz: float, model: BatchModel
) -> float:
    """Predicted share of the rows whose latency is above the target."""
    load = _load(arrivals_per_s, capacity_hz, model)
    periods = _periods(load, model.interval_s)
    return _late(target_s - load.overload_s, load, periods)[0]


@compiled_unchecked
def batch_duration_moments(
    arrivals_per_s: float, capacity_hz: float, model: BatchModel
) -> tuple[float, float]:
    """Mean and coefficient of variation of how long batches take, from batch to batch."""
    load = _load(arrivals_per_s, capacity_hz, model)
    periods = _periods(load, model.interval_s)
    rho, fixed_s = load.utilisation, load.scale * (load.overhead_s + load.work_s)
    timely = 1.0 - periods.overrun
    mean = periods.overrun * periods.overrun_s + timely * periods.timely_s
    square = periods.overrun * periods.overrun_s2 + timely * (
        periods.timely_s**2 + periods.timely_variance
    )
    duration_s = fixed_s + rho * mean
    if duration_s <= NOTHING_S:
        return 0.0, 0.0
    variance = _noise(load, mean) + rho * rho * (1.0 + load.work_cv2) * (square - mean * mean)
    return duration_s, math.sqrt(max(variance, 0.0)) / duration_s


def micro_batch_latency_s(
    arrivals_per_s: FloatArray, model: BatchModel, space: ConfigurationSpace
) -> FloatArray:
    """Latency of every configuration; shape arrivals.shape + (N, F)."""
    capacity_hz = np.multiply.outer(space.executors.astype(np.float64), space.frequencies_hz)
    rates = np.asarray(arrivals_per_s, dtype=np.float64)
    table = np.empty((rates.size, capacity_hz.size))
    _fill(table, rates.ravel(), capacity_hz.ravel(), model)
    return table.reshape(*rates.shape, *capacity_hz.shape)


@compiled_unchecked
def _fill(
    table: FloatArray, arrivals_per_s: FloatArray, capacity_hz: FloatArray, model: BatchModel
) -> None:
    for row in range(table.shape[0]):
        batch_latencies_s(arrivals_per_s[row], capacity_hz, capacity_hz.size, model, table[row])


@compiled_unchecked
def batch_latencies_s(
    arrivals_per_s: float,
    capacity_hz: FloatArray,
    count: int,
    model: BatchModel,
    latencies_s: FloatArray,
) -> None:
    """`batch_latency_s` of the first `count` capacities.

    One loop for each kind of model, so that those of the mean become vector instructions.
    """
    if model.quantile > 0.0:
        for cell in range(count):
            latencies_s[cell] = batch_latency_s(arrivals_per_s, capacity_hz[cell], model)
    elif model.interval_s > 0.0:
        for cell in range(count):
            load = _load(arrivals_per_s, capacity_hz[cell], model)
            periods = _periods_of_trigger(load, model.interval_s)
            latencies_s[cell] = _mean_s(load, periods) + load.overload_s
    else:
        for cell in range(count):
            load = _load(arrivals_per_s, capacity_hz[cell], model)
            latencies_s[cell] = _mean_s(load, _periods_back_to_back(load)) + load.overload_s


def warm_up() -> None:
    """Compile (or load from the disk cache) before the first control step."""
    space = ConfigurationSpace(1, 1, (1_000_000,))
    micro_batch_latency_s(np.ones(1), BatchModel(1.0, 1.0), space)


@compiled_inline
def _load(arrivals_per_s: float, capacity_hz: float, model: BatchModel) -> _Load:
    row_s = model.row_cycles / capacity_hz
    rho = arrivals_per_s * row_s
    scale, overload_s = 1.0, 0.0
    if rho > SATURATION:
        # o / (1 - rho) goes on along its tangent: as with longer overheads at saturation.
        scale += (rho - SATURATION) / (1.0 - SATURATION)
        # The backlog of the step that starts empty, as a fluid: half of its growth on average.
        overload_s = max(rho - 1.0, 0.0) * model.step_s / 2.0
        rho = SATURATION
    return _Load(
        rho,
        scale,
        model.overhead_s,
        model.batch_cycles / capacity_hz,
        (scale * model.overhead_cv * model.overhead_s) ** 2,
        model.work_cv**2,
        rho * row_s * model.arrival_dispersion,
        overload_s,
    )


@compiled_inline
def _noise(load: _Load, period_s: float) -> float:
    """Variance of a batch that gathered for so long."""
    work_s = load.scale * load.work_s + load.utilisation * period_s
    return load.overhead_variance + load.work_cv2 * work_s * work_s + load.dispersion_s * period_s


@compiled_inline
def _periods(load: _Load, interval_s: float) -> _Periods:
    """Stationary moments of the periods."""
    if interval_s <= 0.0:
        return _periods_back_to_back(load)
    return _periods_of_trigger(load, interval_s)


@compiled_inline
def _periods_back_to_back(load: _Load) -> _Periods:
    """Exact. The mean period is m = (o + w) / (1 - rho). Its variance follows from the second
    moment of the recursion and stops to exist before rho does; what is modelled ends at a
    coefficient of variation of one, since no run is long enough to see more.
    """
    rho, fixed_s = load.utilisation, load.scale * (load.overhead_s + load.work_s)
    natural_s = fixed_s / (1.0 - rho)
    kept = 1.0 - rho * rho * (1.0 + load.work_cv2)
    variance, fresh = natural_s * natural_s, _noise(load, natural_s)
    if fresh < kept * variance:
        variance = fresh / kept
    return _Periods(1.0, natural_s, natural_s * natural_s + variance, 0.0, 0.0)


@compiled_inline
def _periods_of_trigger(load: _Load, interval_s: float) -> _Periods:
    """An approximation by two states."""
    rho, fixed_s = load.utilisation, load.scale * (load.overhead_s + load.work_s)
    passed_on = rho * rho * (1.0 + load.work_cv2)  # variance of a period in its batch's duration
    natural = _periods_back_to_back(load)
    natural_s = natural.overrun_s
    variance = natural.overrun_s2 - natural_s * natural_s

    # A batch in time begins on the trigger's grid, one after an overrun at once and off the grid by
    # `behind_s`, so that the next trigger comes that much sooner. First the batch of a whole
    # interval,
    timely_s = fixed_s + rho * interval_s
    timely_s2 = timely_s * timely_s + _noise(load, interval_s)
    late, late_1, late_2 = _tails(interval_s, timely_s, timely_s2)
    if late <= 0.0:
        return _Periods(0.0, interval_s, interval_s * interval_s, interval_s, 0.0)
    overrun_s = timely_s * late_1 / late
    spread = max(timely_s2 * late_2 / late - overrun_s * overrun_s, INHERITED_SPREAD * variance)
    behind_s = min(overrun_s - interval_s, 0.5 * interval_s)
    if natural_s > overrun_s:
        overrun_s, spread, behind_s = natural_s, variance, 0.5 * interval_s
    # then the batch after one that overran,
    next_s = fixed_s + rho * overrun_s
    next_s2 = (
        next_s * next_s + _noise(load, overrun_s) + passed_on * min(spread, overrun_s * overrun_s)
    )
    again, again_1, again_2 = _tails(interval_s - behind_s, next_s, next_s2)
    # and the two states in balance, with the moments of what overruns solved for themselves.
    overrun = late / (1.0 - again + late)
    odds = (1.0 - again) / late
    overrun_s = (odds * timely_s * late_1 + fixed_s * again_1) / (1.0 - rho * again_1)
    overrun_s2 = 2.0 * overrun_s * overrun_s
    # E[D^2] without the part that is proportional to E[P^2] of the state itself.
    work_s = load.scale * load.work_s
    rest = fixed_s * fixed_s + load.overhead_variance + load.work_cv2 * work_s * work_s
    rest += (2.0 * rho * (fixed_s + load.work_cv2 * work_s) + load.dispersion_s) * overrun_s
    top = odds * timely_s2 * late_2 + again_2 * rest
    if top < (1.0 - passed_on * again_2) * overrun_s2:
        overrun_s2 = max(top / (1.0 - passed_on * again_2), overrun_s * overrun_s)
    behind_s = _wrapped_s(
        odds * (timely_s * late_1 - late * interval_s)
        + (fixed_s + rho * overrun_s) * again_1
        - (interval_s - behind_s) * again,
        interval_s,
    )
    caught_up = overrun * (1.0 - again)
    in_time = (1.0 - overrun) * (1.0 - late) + caught_up
    share = caught_up / in_time if in_time > 0.0 else 0.0
    return _Periods(
        overrun,
        overrun_s,
        overrun_s2,
        interval_s - behind_s * share,
        behind_s * behind_s * share * (1.0 - share),
    )


@compiled_inline
def _wrapped_s(late_s: float, interval_s: float) -> float:
    """How far off the grid a batch begins: an exponential delay, less whole intervals.

    late - interval / (exp(y) - 1) with y = interval / late. Both grow without end where y is small,
    so there it is its series: interval * (1/2 - y/12 + y^3/720 ...).
    """
    if late_s <= WRAPPED * interval_s:
        return max(late_s, 0.0)
    y = interval_s / late_s
    if y > 1.0:
        return late_s - interval_s / (exponential(min(y, FARTHEST)) - 1.0)
    y2 = y * y
    series = -1.0 / 47900160.0 + y2 * (691.0 / 1307674368000.0 - y2 / 74724249600.0)
    series = -1.0 / 30240.0 + y2 * (1.0 / 1209600.0 + y2 * series)
    return interval_s * (0.5 - y * (1.0 / 12.0 - y2 * (1.0 / 720.0 + y2 * series)))


@compiled_inline
def _tails(above: float, mean: float, square: float) -> tuple[float, float, float]:
    """Of a lognormal variable: the shares of probability, mean and second moment above a value."""
    variance = square - mean * mean
    if above <= 0.0:
        return 1.0, 1.0, 1.0
    if mean <= NOTHING_S or variance <= 1e-12 * mean * mean:
        share = 1.0 if mean > above else 0.0
        return share, share, share
    inverse = 1.0 / mean
    ratio, spread = above * inverse, variance * inverse * inverse
    sigma = math.sqrt(logarithm_1p(spread))
    place = -logarithm(ratio) / sigma - 0.5 * sigma
    if place < -FAR_TAIL:
        return 0.0, 0.0, 0.0
    # The bells around the three places differ by powers of the ratio.
    bell = exponential(max(-0.5 * place * place, -FARTHEST))
    return (
        normal_below(place, bell),
        normal_below(place + sigma, bell * ratio),
        normal_below(place + 2.0 * sigma, bell * ratio * ratio / (1.0 + spread)),
    )


@compiled_inline
def _normal(value: float) -> float:
    return normal_below(value, exponential(max(-0.5 * value * value, -FARTHEST)))


@compiled_inline
def _mean_s(load: _Load, periods: _Periods) -> float:
    timely = 1.0 - periods.overrun
    mean = periods.overrun * periods.overrun_s + timely * periods.timely_s
    square = periods.overrun * periods.overrun_s2 + timely * (
        periods.timely_s**2 + periods.timely_variance
    )
    fixed_s = load.overhead_s + load.work_s
    if mean <= NOTHING_S:
        return fixed_s
    return min(square / mean, 2.0 * mean) * (0.5 + _served(load)) + fixed_s


@compiled_inline
def _served(load: _Load) -> float:
    """Utilisation, at most one: the length of a batch over its period."""
    return min(load.utilisation + (load.scale - 1.0) * (1.0 - SATURATION), 1.0)


@compiled_inline
def _late(target_s: float, load: _Load, periods: _Periods) -> tuple[float, float]:
    """Share of the rows later than the target, and its density there.

    After a period in time a latency is D plus an even part of that period. After an overrun D goes
    with the period, so the latency is an even spread around a lognormal value.
    """
    if target_s <= 0.0:
        return 1.0, 0.0
    timely = 1.0 - periods.overrun
    rows = periods.overrun * periods.overrun_s + timely * periods.timely_s
    fixed_s, rho = load.overhead_s + load.work_s, _served(load)
    if rows <= NOTHING_S:
        return (1.0, 0.0) if fixed_s > target_s else (0.0, 0.0)
    late = density = 0.0
    if timely > 0.0:
        period_s = periods.timely_s
        batch_s = fixed_s + rho * period_s
        passed_on = rho * rho * (1.0 + load.work_cv2)
        square = batch_s**2 + _noise(load, period_s) + passed_on * periods.timely_variance
        first, first_1, _ = _tails(target_s - period_s, batch_s, square)
        last, last_1, _ = _tails(target_s, batch_s, square)
        late += timely * (
            batch_s * (first_1 - last_1) - (target_s - period_s) * first + target_s * last
        )
        density += timely * (first - last)
    if periods.overrun > 0.0:
        share, slope = _spread_late(target_s, load, periods, fixed_s, rho)
        weight = periods.overrun * periods.overrun_s
        late += weight * share
        density += weight * slope
    return min(max(late / rows, 0.0), 1.0), density / rows


@compiled_inline
def _spread_late(
    target_s: float, load: _Load, periods: _Periods, fixed_s: float, rho: float
) -> tuple[float, float]:
    """P(S * B > target) and its density: S lognormal, B even over 1 - h .. 1 + h."""
    period_s = periods.overrun_s
    second = periods.overrun_s2 / period_s
    third = second**3 / period_s  # of a lognormal period, over its mean
    mean_s = second * (0.5 + rho) + fixed_s
    square = (
        third * (1.0 / 3.0 + rho + rho * rho * (1.0 + load.work_cv2))
        + second * (fixed_s * (1.0 + 2.0 * rho) + 2.0 * load.work_cv2 * load.work_s * rho)
        + fixed_s * fixed_s
        + load.overhead_variance
        + load.work_cv2 * load.work_s**2
        + load.dispersion_s * second
    )
    half = min(0.5 * second / mean_s, 1.0)
    variance = square / (mean_s * mean_s * (1.0 + half * half / 3.0)) - 1.0
    sigma = math.sqrt(math.log1p(max(variance, 1e-8)))
    place = math.log(mean_s / target_s) - 0.5 * sigma * sigma
    inverse = math.exp(sigma * sigma) / mean_s  # E[1 / S]
    high = (math.log(1.0 + half) + place) / sigma
    above, slope = (1.0 + half) * _normal(high), _normal(high - sigma)
    if half < 1.0:
        low = (math.log(1.0 - half) + place) / sigma
        above -= (1.0 - half) * _normal(low)
        slope -= _normal(low - sigma)
    slope *= inverse
    return (above - target_s * slope) / (2.0 * half), slope / (2.0 * half)


@compiled_unchecked
def _quantile_s(load: _Load, periods: _Periods, share: float) -> float:
    """Newton's method, kept between bounds that close in."""
    low, high, found = 0.0, math.inf, 1.5 * _mean_s(load, periods)
    for _ in range(NEWTON_STEPS):
        late, density = _late(found, load, periods)
        if late > share:
            low = found
        else:
            high = found
        step = (late - share) / density if density > 0.0 else math.inf
        following = found + step
        if not low < following < high:
            following = 0.5 * (low + high) if high < math.inf else 2.0 * low
        if abs(following - found) <= QUANTILE_TOLERANCE * found:
            return following
        found = following
    return found

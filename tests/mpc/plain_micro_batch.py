"""The mean latency of `mpc.micro_batch` in plain Python, one number at a time, with the functions
of the mathematical library. What is compiled for speed must say the same."""

import math

from mpc.micro_batch import (
    FAR_TAIL,
    INHERITED_SPREAD,
    NOTHING_S,
    SATURATION,
    WRAPPED,
    BatchModel,
    _Load,
    _Periods,
)


def plain_latency_s(arrivals_per_s: float, capacity_hz: float, model: BatchModel) -> float:
    load = _load(arrivals_per_s, capacity_hz, model)
    return _mean_s(load, _periods(load, model.interval_s)) + load.overload_s


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


def _noise(load: _Load, period_s: float) -> float:
    """Variance of a batch that gathered for so long."""
    work_s = load.scale * load.work_s + load.utilisation * period_s
    return load.overhead_variance + load.work_cv2 * work_s * work_s + load.dispersion_s * period_s


def _periods(load: _Load, interval_s: float) -> _Periods:
    """Stationary moments of the periods: exact back to back, a two-state approximation with a
    trigger.

    The mean period back to back is m = (o + w) / (1 - rho). Its variance follows from the second
    moment of the recursion and stops to exist before rho does; what is modelled ends at a
    coefficient of variation of one, since no run is long enough to see more.
    """
    rho, fixed_s = load.utilisation, load.scale * (load.overhead_s + load.work_s)
    passed_on = rho * rho * (1.0 + load.work_cv2)  # variance of a period in its batch's duration
    natural_s = fixed_s / (1.0 - rho)
    fresh = _noise(load, natural_s)
    variance = natural_s * natural_s
    if fresh < (1.0 - passed_on) * variance:
        variance = fresh / (1.0 - passed_on)
    if interval_s <= 0.0:
        return _Periods(1.0, natural_s, natural_s * natural_s + variance, 0.0, 0.0)

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


def _wrapped_s(late_s: float, interval_s: float) -> float:
    """How far off the grid a batch begins: an exponential delay, less whole intervals."""
    if late_s <= WRAPPED * interval_s:
        return max(late_s, 0.0)
    return late_s - interval_s / math.expm1(interval_s / late_s)


def _tails(above: float, mean: float, square: float) -> tuple[float, float, float]:
    """Of a lognormal variable: the shares of probability, mean and second moment above a value."""
    variance = square - mean * mean
    if above <= 0.0:
        return 1.0, 1.0, 1.0
    if mean <= NOTHING_S or variance <= 1e-12 * mean * mean:
        share = 1.0 if mean > above else 0.0
        return share, share, share
    sigma = math.sqrt(math.log1p(variance / (mean * mean)))
    place = math.log(mean / above) / sigma - 0.5 * sigma
    if place < -FAR_TAIL:
        return 0.0, 0.0, 0.0
    return _normal(place), _normal(place + sigma), _normal(place + 2.0 * sigma)


def _normal(value: float) -> float:
    return 0.5 * math.erfc(-0.7071067811865476 * value)


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


def _served(load: _Load) -> float:
    """Utilisation, at most one: the length of a batch over its period."""
    return min(load.utilisation + (load.scale - 1.0) * (1.0 - SATURATION), 1.0)

"""The paper's figures beside ours: scaling, accuracy, throughput, messages (Belkhiria and Tedeschi
2019, section 5).

The paper shows one run and names some of its values; its loads are not published. Ours are medians
over several random loads with their 5 % and 95 % quantiles, for the protocol with the deletion as
published and with all repairs of `mpc.decentralised.node`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.decentralised import traffic
from benchmarks.decentralised.experiment import (
    BAND,
    CAPACITY,
    ProtocolExperiment,
    random_loads,
    run,
)
from benchmarks.decentralised.timed import RandomDelays
from mpc.decentralised.node import ALL_GUARDS, Guard

AS_PUBLISHED = ALL_GUARDS - {Guard.PREDECESSORS_FIRST, Guard.LEAVERS_NAMED}
"""Deletion and start as published. The other repairs change nothing with the paper's delays."""
LOCAL = 2
"""The operator that is looked at alone, with neighbours on both sides."""
GROWTH_STEPS = 60
GROWTH_RUNS = 4
SLOW_RUNS = 3
MEAN_DELAYS_STEPS = (1.0, 3.0, 10.0)


@dataclass(frozen=True, slots=True)
class ProtocolFigure:
    figure: str
    paper: float | None
    published: float | None
    """Ours with the deletion as published."""
    repaired: float
    low: float | None
    """5 % quantile over the random loads, with the repairs."""
    high: float | None
    difference: float | None
    """With the repairs, minus the paper's."""


@dataclass(frozen=True, slots=True)
class SlowNetwork:
    """The same experiment when messages take long; means over the runs."""

    mean_delay_steps: float
    accuracy: float
    lowest_accuracy: float
    throughput: float
    lowest_throughput: float
    messages: float
    inconsistent_views: int
    """When all messages have arrived in the end."""


def figures(repeat: int, seed: int, begin: Callable[[str], None]) -> list[ProtocolFigure]:
    published: list[ProtocolExperiment] = []
    repaired: list[ProtocolExperiment] = []
    for number in range(repeat):
        begin(f"random load {number + 1} of {repeat}")
        published.append(experiment(seed + number, AS_PUBLISHED))
        repaired.append(experiment(seed + number, ALL_GUARDS))
    begin("message formula and growth")
    return [
        *(
            _over_loads(name, paper, value, published, repaired)
            for name, paper, value in _OVER_LOADS
        ),
        _exact("steps of a scale-out", 3, traffic.steps_to_scale_out),
        _exact("steps of a scale-in", 2, traffic.steps_to_scale_in),
        _exact("messages of one duplication's first step, 16 + 14", 30, traffic.one_duplication),
        _exact("messages in a step of four deletions, 21 + 21", 168, traffic.four_deletions),
        _exact("cases off the duplication formula", 0, traffic.duplications_off_formula),
        _exact("cases off the same formula for deletions", None, traffic.deletions_off_formula),
        *_growth(seed),
    ]


def slow_networks(seed: int, begin: Callable[[str], None]) -> list[SlowNetwork]:
    rows = []
    for mean_steps in MEAN_DELAYS_STEPS:
        begin(f"messages of {mean_steps:g} steps")
        runs = [experiment(seed + number, ALL_GUARDS, mean_steps) for number in range(SLOW_RUNS)]
        rows.append(
            SlowNetwork(
                mean_delay_steps=mean_steps,
                accuracy=_mean([each.accuracy.mean() for each in runs]),
                lowest_accuracy=_mean([each.accuracy.min() for each in runs]),
                throughput=_mean([_throughput(each) for each in runs]),
                lowest_throughput=_mean([each.throughput.min() for each in runs]),
                messages=_mean([_total_messages(each) for each in runs]),
                inconsistent_views=sum(len(each.settled) for each in runs),
            )
        )
    return rows


def experiment(
    seed: int, guards: frozenset[Guard], mean_delay_steps: float | None = None
) -> ProtocolExperiment:
    """One random load; the same for every variant of one seed."""
    load_seed, decision_seed, delay_seed = np.random.SeedSequence(seed).spawn(3)
    delays = None
    if mean_delay_steps is not None:
        delays = RandomDelays(mean_delay_steps, np.random.default_rng(delay_seed))
    loads = random_loads(np.random.default_rng(load_seed))
    return run(loads, np.random.default_rng(decision_seed), guards, delays)


def _peak_load(each: ProtocolExperiment) -> float:
    return float(each.loads.sum(axis=1).max())


def _instances_at_peak(each: ProtocolExperiment) -> float:
    """Most instances, for those that the highest load needs (paper: 114 for 40,396 tuples)."""
    return float(each.instances.sum(axis=1).max()) / (_peak_load(each) / (BAND.target * CAPACITY))


def _lag_steps(each: ProtocolExperiment) -> float:
    """Shift by which the instances follow the load best."""
    total, ideal = each.instances.sum(axis=1), each.ideal.sum(axis=1)
    errors = [
        float(np.mean((total[shift:] - ideal[: len(ideal) - shift]) ** 2)) for shift in range(20)
    ]
    return float(np.argmin(errors))


def _throughput(each: ProtocolExperiment) -> float:
    """Share of all tuples that were processed in the step they came in."""
    return float((each.throughput * each.loads).sum() / each.loads.sum())


def _total_messages(each: ProtocolExperiment) -> float:
    return float(each.messages.sum())


_OVER_LOADS: Sequence[tuple[str, float | None, Callable[[ProtocolExperiment], float]]] = (
    ("highest load, tuples/step (chosen to fit)", 40_396, _peak_load),
    ("most instances / needed at the highest load", 114 / (40_396 / 350), _instances_at_peak),
    ("steps the instances lag behind the load", 4, _lag_steps),
    ("mean accuracy", None, lambda each: float(each.accuracy.mean())),
    ("highest accuracy, one operator", 2.5, lambda each: float(each.accuracy[:, LOCAL].max())),
    ("lowest accuracy, one operator", 0.33, lambda each: float(each.accuracy[:, LOCAL].min())),
    ("share of all tuples processed at once", None, _throughput),
    ("lowest throughput, one operator", 0.45, lambda each: float(each.throughput[:, LOCAL].min())),
    ("messages, all", None, _total_messages),
    ("most messages in a step, one operator", 168, lambda each: each.messages[:, LOCAL].max()),
)


def _over_loads(
    name: str,
    paper: float | None,
    value: Callable[[ProtocolExperiment], float],
    published: Sequence[ProtocolExperiment],
    repaired: Sequence[ProtocolExperiment],
) -> ProtocolFigure:
    ours = np.asarray([value(each) for each in repaired], dtype=np.float64)
    median = float(np.median(ours))
    return ProtocolFigure(
        name,
        paper,
        float(np.median([value(each) for each in published])),
        median,
        float(np.quantile(ours, 0.05)),
        float(np.quantile(ours, 0.95)),
        None if paper is None else median - paper,
    )


def _exact(
    name: str, paper: float | None, value: Callable[[frozenset[Guard]], int]
) -> ProtocolFigure:
    ours = value(ALL_GUARDS)
    difference = None if paper is None else ours - paper
    return ProtocolFigure(name, paper, value(AS_PUBLISHED), ours, None, None, difference)


def _growth(seed: int) -> list[ProtocolFigure]:
    rows = []
    for geometric, name, paper in (
        (True, "messages ~ nodes^b, load grows by equal factors: b", 2.0),
        (False, "messages ~ nodes^b, load grows by equal amounts: b", 2.0),
    ):
        loads = traffic.growing_loads(GROWTH_STEPS, geometric)
        exponents = [
            traffic.growth(loads, np.random.default_rng(seed + number)).exponent
            for number in range(GROWTH_RUNS)
        ]
        median = float(np.median(exponents))
        low, high = min(exponents), max(exponents)
        rows.append(ProtocolFigure(name, paper, None, median, low, high, median - paper))
    return rows


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))

"""What every policy promises, as checks that anybody can run over a policy of their own:

    from mpc.policies.contract import check_policy
    check_policy(ENTRY)

With a test framework, one test a check: `@pytest.mark.parametrize("check", CHECKS)` and
`check.run(Subject(ENTRY))`. Nothing of the product imports this module.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from mpc.bounds import Bounds
from mpc.policies.catalogue import PolicyEntry
from mpc.policies.context import Context
from mpc.ports import Policy
from mpc.snapshot import load, save
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Decision, Measurement

SPACE = ConfigurationSpace(1, 6, (1_200_000, 1_600_000, 2_000_000))
TARGET_S = 1.0
STEP_S = 60.0
ROW_CYCLES = 1e6
"""So that the space serves 1,200 to 12,000 rows per second."""
RANDOM_RUNS = 20


class ContractBroken(AssertionError):
    """A promise that a policy does not keep."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The policy under test; `options` other than its defaults may be given."""

    entry: PolicyEntry
    options: Struct | None = None

    def fresh(self, seed: int = 1) -> Policy:
        options = self.entry.default_options() if self.options is None else self.options
        context = Context(
            space=SPACE,
            target_latency_s=TARGET_S,
            step_s=STEP_S,
            generator=np.random.default_rng(seed),
        )
        return self.entry.build(options, context)


class PolicyCheck(NamedTuple):
    name: str
    run: Callable[[Subject], None]


def check_policy(
    entry: PolicyEntry, options: Struct | None = None, exempt: Sequence[str] = ()
) -> None:
    """Run every check but those named in `exempt`; raises `ContractBroken` for the first that
    fails. Only a policy that is installed can be restored from a snapshot."""
    for check in CHECKS:
        if check.name not in exempt:
            check.run(Subject(entry, options))


def admissible(decision: Decision, bounds: Bounds) -> Decision:
    target = decision.target
    _require(bounds.contains(target), f"{target} lies outside {bounds.space}")
    _require(bool(decision.reason), "a decision has a reason")
    planned = decision.plan.trajectory if decision.plan is not None else ()
    for configuration in planned:
        _require(bounds.contains(configuration), f"planned {configuration} outside {bounds.space}")
    if decision.key_owners is not None:
        owners = decision.key_owners
        within = owners.min() >= 0 and owners.max() < target.executors
        _require(bool(within), f"keys of executors that are not there: {owners} of {target}")
    return decision


def drive(
    policy: Policy,
    steps: Sequence[dict[str, Any]],
    between: Callable[[Policy], Policy] = lambda policy: policy,
    bounds: Sequence[Bounds] = (),
) -> list[Decision]:
    """Every decision is requested and runs at once; `between` two steps the policy may change."""
    current, decided = SPACE.largest, []
    for number, values in enumerate(steps, start=1):
        allowed = bounds[number - 1] if bounds else Bounds(SPACE)
        measurement = Measurement(number, number * STEP_S, current, current, **values)
        decided.append(admissible(policy.decide(measurement, allowed), allowed))
        current = decided[-1].target
        policy = between(policy)
    return decided


def comparable(decisions: Sequence[Decision]) -> list[tuple[object, ...]]:
    """All there is in decisions, in a form that can be compared."""
    return [
        (
            decision.target,
            decision.reason,
            decision.plan,
            _listed(decision.key_owners),
            _listed(decision.expected_arrivals_per_s),
        )
        for decision in decisions
    ]


class SmallPlant:
    """One batch a step, a backlog that is carried on, and what a sensor would measure of it."""

    def __init__(self, arrivals_per_s: Callable[[int], float], start: Configuration) -> None:
        self._arrivals_per_s = arrivals_per_s
        self._backlog = 0.0
        self.current = start

    def run(
        self,
        policy: Policy,
        steps: int,
        gaps: frozenset[int] = frozenset(),
        between: Callable[[Policy], Policy] = lambda policy: policy,
    ) -> list[Decision]:
        decided, bounds = [], Bounds(SPACE)
        for number in range(1, steps + 1):
            measured = self._measured(number)
            if number in gaps:
                measured = Measurement(
                    number, number * STEP_S, measured.requested, measured.observed
                )
            decided.append(admissible(policy.decide(measured, bounds), bounds))
            self.current = decided[-1].target
            policy = between(policy)
        return decided

    def _measured(self, number: int) -> Measurement:
        now = self.current
        capacity_per_s = now.executors * now.frequency_khz * 1e3 / ROW_CYCLES
        arrivals_per_s = self._arrivals_per_s(number)
        served_per_s = min(capacity_per_s, arrivals_per_s + self._backlog / STEP_S)
        self._backlog = max(self._backlog + (arrivals_per_s - served_per_s) * STEP_S, 0.0)
        latency_s = 0.2 + self._backlog / capacity_per_s
        busy_s = 0.1 + served_per_s * STEP_S / capacity_per_s
        return Measurement(
            step=number,
            time_s=number * STEP_S,
            requested=now,
            observed=now,
            arrivals_per_s=arrivals_per_s,
            completions_per_s=served_per_s,
            backlog_items=self._backlog,
            arrival_cv=1.0,
            arrival_dispersion=1.0,
            cost_cycles=ROW_CYCLES,
            cost_cv=0.5,
            key_frequencies=np.asarray([0.5, 0.3, 0.2]),
            key_cost_cycles=np.asarray([1e6, 2e6, 3e6]),
            wait_s=latency_s - 0.1,
            latency_s=latency_s,
            congestion=1.0 if self._backlog else 0.0,
            batches=(BatchSample(int(served_per_s * STEP_S), busy_s, now),),
        )


def wave(number: int) -> float:
    return 5000.0 + 4500.0 * float(np.sin(number / 5.0))


def odd_steps(random: np.random.Generator) -> list[dict[str, Any]]:
    """Steps with anything missing, idle, overloaded or absurd."""

    def maybe(highest: float, lowest: float = 0.0) -> float | None:
        edge = random.random()
        if edge < 0.3:
            return None
        return lowest if edge < 0.4 else float(random.uniform(lowest, highest))

    steps = []
    for _ in range(int(random.integers(1, 9))):
        keyed = bool(random.integers(2))
        batches = tuple(
            BatchSample(int(random.integers(10**6)), float(random.uniform(0, 100)), SPACE.largest)
            for _ in range(int(random.integers(4)))
        )
        steps.append(
            {
                "arrivals_per_s": maybe(1e6),
                "completions_per_s": maybe(1e6),
                "backlog_items": maybe(1e6),
                "arrival_cv": maybe(50.0),
                "arrival_dispersion": maybe(1e4),
                "cost_cycles": maybe(1e10, 1.0),
                "cost_cv": maybe(10.0),
                "key_frequencies": np.asarray([0.5, 0.3, 0.2]) if keyed else None,
                "key_cost_cycles": np.asarray([1e5, 2e5, 3e5]) if keyed else None,
                "wait_s": maybe(1e4),
                "latency_s": maybe(1e4),
                "congestion": maybe(1.0),
                "trigger_interval_s": maybe(100.0, 0.1),
                "batches": batches,
            }
        )
    return steps


def odd_bounds(random: np.random.Generator) -> Bounds:
    fewest = int(random.integers(SPACE.min_executors, SPACE.max_executors + 1))
    most = int(random.integers(fewest, SPACE.max_executors + 1))
    lowest = int(random.integers(len(SPACE.frequencies_khz)))
    return Bounds(ConfigurationSpace(fewest, most, SPACE.frequencies_khz[lowest:]))


def restored(policy: Policy) -> Policy:
    copied: Policy = load(save(policy))
    return copied


def _random_runs() -> Iterator[tuple[np.random.Generator, list[dict[str, Any]]]]:
    for seed in range(RANDOM_RUNS):
        random = np.random.default_rng(seed)
        yield random, odd_steps(random)


def _decides_whatever_is_measured(subject: Subject) -> None:
    for _, steps in _random_runs():
        drive(subject.fresh(), steps)


def _stays_within_the_bounds(subject: Subject) -> None:
    for random, steps in _random_runs():
        drive(subject.fresh(), steps, bounds=[odd_bounds(random) for _ in steps])


def _is_the_same_after_a_snapshot(subject: Subject) -> None:
    """Long enough for a learner to learn, and with a hole in the middle."""
    gaps, start = frozenset({3, *range(30, 36)}), SPACE.at(2, 2)
    whole = SmallPlant(wave, start).run(subject.fresh(), 60, gaps)
    parts = SmallPlant(wave, start).run(subject.fresh(), 60, gaps, restored)
    _require(comparable(parts) == comparable(whole), "a restored policy decides otherwise")


def _repeats_itself_with_one_seed(subject: Subject) -> None:
    first, again = (SmallPlant(wave, SPACE.at(2, 2)).run(subject.fresh(7), 40) for _ in range(2))
    _require(comparable(first) == comparable(again), "two runs with one seed differ")


def _holds_while_nothing_is_measured(subject: Subject) -> None:
    start, bounds = SPACE.at(2, 2), Bounds(SPACE)
    decision = subject.fresh().decide(Measurement(1, STEP_S, start, start), bounds)
    _require(decision.target == start, f"moved to {decision.target} without a measurement")


def _stays_calm_in_a_calm_stream(subject: Subject) -> None:
    (decision,) = SmallPlant(lambda _: 3000.0, SPACE.at(2, 2)).run(subject.fresh(), 1)
    target = decision.target
    # Three executors at 2 GHz are twice what is needed; a policy may be more careful than that.
    asked_hz = target.executors * target.frequency_khz * 1e3
    _require(asked_hz <= 8e9, f"one calm sample led to {target}")


def _scales_out_of_an_overload(subject: Subject) -> None:
    """From the smallest configuration with far too much work. One hour, so that the slowest window
    has passed; what a learner tries after it has been there is its own affair."""
    decided = SmallPlant(lambda _: 8000.0, SPACE.at(0, 0)).run(subject.fresh(), 60)
    # 8,000 rows of 1e6 cycles need 8 GHz of the 12 there are.
    reached = max(d.target.executors * d.target.frequency_khz * 1e3 for d in decided)
    _require(reached >= 8e9, f"came to {reached / 1e9:g} GHz only, and 8 are needed")


CHECKS = (
    PolicyCheck("decides whatever is measured", _decides_whatever_is_measured),
    PolicyCheck("stays within the bounds", _stays_within_the_bounds),
    PolicyCheck("is the same after a snapshot", _is_the_same_after_a_snapshot),
    PolicyCheck("repeats itself with one seed", _repeats_itself_with_one_seed),
    PolicyCheck("holds while nothing is measured", _holds_while_nothing_is_measured),
    PolicyCheck("stays calm in a calm stream", _stays_calm_in_a_calm_stream),
    PolicyCheck("scales out of an overload", _scales_out_of_an_overload),
)


def _require(kept: bool, otherwise: str) -> None:
    if not kept:
        raise ContractBroken(otherwise)


def _listed(values: Any) -> object:
    return None if values is None else values.tolist()

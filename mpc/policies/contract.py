"""What every policy promises, as checks that anybody can run over a policy of their own:

    from mpc.policies.contract import check_policy
    check_policy(ENTRY)

With a test framework, one test a check: `@pytest.mark.parametrize("check", CHECKS)` and
`check.run(Subject(ENTRY))`. Nothing of the product imports this module.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from mpc.bounds import Bounds
from mpc.controller import Controller
from mpc.events import EventKind
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
    """Run every check but those named in `exempt` and those that the entry says its source rules
    out; raises `ContractBroken` for the first that fails. Only a policy that is installed can be
    restored from a snapshot."""
    for check in CHECKS:
        if check.name not in (*exempt, *entry.breaks):
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


class Trouble(NamedTuple):
    """What happens to a `TroubledPlant`, by the number of the step."""

    ends: Callable[[int], bool] = lambda _: True
    """Whether the batch of the step ends in it."""
    rate_by_batch: bool = False
    """The rate is known only when a batch tells it."""
    lost: Callable[[int], int] = lambda _: 0
    """Executors that are requested and do not run."""
    misread: Callable[[int], float] = lambda _: 1.0
    """By what the measured rate is wrong."""


class TroubledPlant:
    """A `SmallPlant` under the whole controller, with what goes wrong on real clusters."""

    def __init__(self, policy: Policy, trouble: Trouble, start: Configuration) -> None:
        self._controller = Controller.of(policy, SPACE, TARGET_S, STEP_S)
        self._trouble = trouble
        self._plant = SmallPlant(lambda _: STEADY_PER_S, start)
        self._silent_steps = 0

    def run(self, steps: int) -> list[Configuration]:
        """What was applied, step by step."""
        applied = []
        for number in range(1, steps + 1):
            decided = self._controller.step(self._measured(number))
            failed = [event for event in decided.events if event.kind == EventKind.STEP_FAILED]
            _require(not failed, f"raised: {failed}")
            self._plant.current = decided.target
            applied.append(decided.target)
        return applied

    def _measured(self, number: int) -> Measurement:
        trouble, requested = self._trouble, self._plant.current
        running = max(requested.executors - trouble.lost(number), 0)
        observed = Configuration(running, requested.frequency_khz)
        if not trouble.ends(number) or not running:
            self._silent_steps += 1
            rate_per_s = None if trouble.rate_by_batch else STEADY_PER_S
            return Measurement(
                number,
                number * STEP_S,
                requested,
                observed,
                arrivals_per_s=rate_per_s,
                completions_per_s=None if trouble.rate_by_batch else 0.0,
                congestion=1.0,
                oldest_wait_s=self._silent_steps * STEP_S,
            )
        self._silent_steps = 0
        self._plant.current = observed
        measured = self._plant._measured(number)
        self._plant.current = requested
        arrivals_per_s = STEADY_PER_S * trouble.misread(number)
        return replace(measured, requested=requested, arrivals_per_s=arrivals_per_s)


STEADY_PER_S = 3000.0
SETTLED_STEPS, TROUBLED_STEPS = 20, 40
ENOUGH = Configuration(3, 2_000_000)
"""Twice what the steady rate needs."""


def _troubled(subject: Subject, trouble: Trouble) -> tuple[Configuration, list[Configuration]]:
    """What was applied right before the trouble began, and from then on."""
    plant = TroubledPlant(subject.fresh(), trouble, ENOUGH)
    applied = plant.run(SETTLED_STEPS + TROUBLED_STEPS)
    return applied[SETTLED_STEPS - 1], applied[SETTLED_STEPS:]


def _capacity(configuration: Configuration) -> int:
    return configuration.executors * configuration.frequency_khz


def _scales_out_while_no_batch_ends(subject: Subject) -> None:
    """The rate is asked of the source; a batch of the twenty-first step never ends."""
    before, during = _troubled(subject, Trouble(ends=lambda number: number <= SETTLED_STEPS))
    _require_more(before, during)


def _scales_out_on_rates_that_only_batches_tell(subject: Subject) -> None:
    """The same, and with the batch the rate is missing as well."""
    trouble = Trouble(ends=lambda number: number <= SETTLED_STEPS, rate_by_batch=True)
    before, during = _troubled(subject, trouble)
    _require_more(before, during)


def _require_more(before: Configuration, during: list[Configuration]) -> None:
    reached = max(_capacity(target) for target in during)
    more = reached > _capacity(before) or before == SPACE.largest
    _require(more, f"stayed at {before} while rows waited for {TROUBLED_STEPS} steps")


def _gives_nothing_up_in_silence(subject: Subject) -> None:
    for rate_by_batch in (False, True):
        trouble = Trouble(lambda number: number <= SETTLED_STEPS, rate_by_batch)
        before, during = _troubled(subject, trouble)
        fewest = min(target.executors for target in during)
        slowest_khz = min(target.frequency_khz for target in during)
        kept = fewest >= before.executors and slowest_khz >= before.frequency_khz
        _require(kept, f"gave up some of {before} while rows waited")


def _makes_up_for_lost_executors(subject: Subject) -> None:
    """Two are lost and do not come back for a while: what is left must not be taken for more."""
    trouble = Trouble(lost=lambda number: 2 if number > SETTLED_STEPS else 0)
    before, during = _troubled(subject, trouble)
    running = [(max(target.executors - 2, 0)) * target.frequency_khz for target in during]
    enough = STEADY_PER_S * ROW_CYCLES / 1e3
    _require(max(running) >= enough, f"lost two executors of {before} and never made up for them")


def _gives_nothing_up_for_one_bad_reading(subject: Subject) -> None:
    """One step with 200 times the rate, later one with a 200th of it."""
    for factor in (200.0, 1.0 / 200.0):
        spike = SETTLED_STEPS + 1

        def misread(number: int, factor: float = factor, spike: int = spike) -> float:
            return factor if number == spike else 1.0

        before, after = _troubled(subject, Trouble(misread=misread))
        _require(
            after[0].executors >= before.executors
            and after[0].frequency_khz >= before.frequency_khz,
            f"one reading {factor:g} times the rate took {before} to {after[0]}",
        )


CHECKS = (
    PolicyCheck("decides whatever is measured", _decides_whatever_is_measured),
    PolicyCheck("stays within the bounds", _stays_within_the_bounds),
    PolicyCheck("is the same after a snapshot", _is_the_same_after_a_snapshot),
    PolicyCheck("repeats itself with one seed", _repeats_itself_with_one_seed),
    PolicyCheck("holds while nothing is measured", _holds_while_nothing_is_measured),
    PolicyCheck("stays calm in a calm stream", _stays_calm_in_a_calm_stream),
    PolicyCheck("scales out of an overload", _scales_out_of_an_overload),
    PolicyCheck("scales out while no batch ends", _scales_out_while_no_batch_ends),
    PolicyCheck(
        "scales out on rates that only batches tell", _scales_out_on_rates_that_only_batches_tell
    ),
    PolicyCheck("gives nothing up in silence", _gives_nothing_up_in_silence),
    PolicyCheck("makes up for lost executors", _makes_up_for_lost_executors),
    PolicyCheck("gives nothing up for one bad reading", _gives_nothing_up_for_one_bad_reading),
)


def _require(kept: bool, otherwise: str) -> None:
    if not kept:
        raise ContractBroken(otherwise)


def _listed(values: Any) -> object:
    return None if values is None else values.tolist()

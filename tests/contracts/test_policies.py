"""Every policy of the catalogue keeps the contract, and some of its variants do."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpc.bounds import Bounds
from mpc.options import Surroundings
from mpc.policies.catalogue import PolicyEntry, find_policy, policy_entries
from mpc.policies.contract import (
    CHECKS,
    SPACE,
    STEP_S,
    ContractBroken,
    PolicyCheck,
    SmallPlant,
    Subject,
    check_policy,
    comparable,
    drive,
    restored,
)
from mpc.policies.fixed.policy import FixedPolicy
from mpc.ports import Policy
from mpc.values import BatchSample, Configuration, Decision, Measurement
from runtime.config import load_config


def foresight(*overrides: str) -> Subject:
    config = load_config(None, ["forecast.scenarios=20", *overrides])
    return Subject(find_policy("foresight"), config.options_of("foresight"))


NAMES = ("static-3", *(entry.name for entry in policy_entries() if entry.number is None))
SUBJECTS = {
    **{name: Subject(find_policy(name)) for name in NAMES},
    "foresight": foresight(),
    "foresight-cvar": foresight("forecast.risk=cvar", "forecast.model=last"),
    "foresight-paper-scaling": foresight("cost.scaling=paper", "forecast.model=last"),
    "foresight-micro-batch": foresight("latency.model=micro-batch"),
    "foresight-limited": foresight(
        "forecast.model=last",
        "horizon.steps=5",
        "horizon.step_s=60",
        "limits.dead_time_s=120",
        "limits.max_added_per_step=1",
        "limits.min_dwell_steps=2",
        "limits.power_cap_w=9",
        "limits.energy_budget_j=2400",
    ),
}


def is_exempt(name: str, check: str) -> bool:
    """What the source of a policy rules out, and what the power cap of foresight-limited does: it
    leaves less than an overload needs."""
    capped = ("scales out of an overload", "makes up for lost executors")
    return check in SUBJECTS[name].entry.breaks or (name == "foresight-limited" and check in capped)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}: {check.name}")
        for name in SUBJECTS
        for check in CHECKS
        if not is_exempt(name, check.name)
    ],
)
def test_the_contract_is_kept(name: str, check: PolicyCheck) -> None:
    check.run(SUBJECTS[name])


def test_a_capped_policy_scales_out_as_far_as_the_cap_allows() -> None:
    plant = SmallPlant(lambda _: 8000.0, SPACE.at(0, 0))
    decided = plant.run(SUBJECTS["foresight-limited"].fresh(), 60)
    assert max(d.target.executors * d.target.frequency_khz for d in decided) >= 3e6


rates = st.one_of(st.none(), st.floats(0, 1e6))
times = st.one_of(st.none(), st.floats(0, 1e4))


@st.composite
def measurements(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Steps with anything missing, idle, overloaded or absurd."""
    steps = []
    for _ in range(draw(st.integers(1, 8))):
        keyed = draw(st.booleans())
        steps.append(
            {
                "arrivals_per_s": draw(rates),
                "completions_per_s": draw(rates),
                "backlog_items": draw(rates),
                "arrival_cv": draw(st.one_of(st.none(), st.floats(0, 50))),
                "arrival_dispersion": draw(st.one_of(st.none(), st.floats(0, 1e4))),
                "cost_cycles": draw(st.one_of(st.none(), st.floats(1, 1e10))),
                "cost_cv": draw(st.one_of(st.none(), st.floats(0, 10))),
                "key_frequencies": np.asarray([0.5, 0.3, 0.2]) if keyed else None,
                "key_cost_cycles": np.asarray([1e5, 2e5, 3e5]) if keyed else None,
                "wait_s": draw(times),
                "latency_s": draw(times),
                "congestion": draw(st.one_of(st.none(), st.floats(0, 1))),
                "trigger_interval_s": draw(st.one_of(st.none(), st.floats(0.1, 100))),
                "batches": tuple(
                    BatchSample(rows, duration_s, SPACE.largest)
                    for rows, duration_s in draw(
                        st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 100)), max_size=3)
                    )
                ),
            }
        )
    return steps


@pytest.mark.parametrize("name", SUBJECTS)
@settings(max_examples=10)
@given(steps=measurements())
def test_always_an_admissible_decision_and_the_same_from_a_snapshot(
    name: str, steps: list[dict[str, Any]]
) -> None:
    subject = SUBJECTS[name]
    whole, parts = drive(subject.fresh(), steps), drive(subject.fresh(), steps, restored)
    assert comparable(parts) == comparable(whole)


class Deaf:
    """Breaks every promise but the reason: it goes where it likes."""

    def __init__(self, _options: object, _context: object) -> None:
        self._random = np.random.default_rng()

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        del bounds
        here = measurement.requested.executors
        executors = int(self._random.choice([n for n in range(1, 7) if n != here]))
        return Decision(Configuration(executors, 2_000_000), "because")


def deaf_entry() -> PolicyEntry:
    return PolicyEntry("deaf", "mpc.policies.fixed.options:PeakOptions", f"{__name__}:Deaf")


@pytest.mark.parametrize("check", CHECKS[1:5], ids=lambda check: check.name)
def test_a_policy_that_breaks_a_promise_is_found_out(check: PolicyCheck) -> None:
    with pytest.raises(Exception, match=r"outside|may not hold|differ|without a measurement"):
        check.run(Subject(deaf_entry()))


def test_check_policy_runs_what_is_not_exempt() -> None:
    check_policy(find_policy("rule-based"))
    check_policy(find_policy("peak"))
    unsaid = replace(find_policy("peak"), breaks=())
    with pytest.raises(ContractBroken, match="without a measurement"):
        check_policy(unsaid)
    check_policy(unsaid, exempt=tuple(check.name for check in CHECKS[4:]))


def test_a_fixed_policy_obeys_the_bounds_before_its_configuration() -> None:
    policy: Policy = FixedPolicy(SPACE.largest)
    bounds = Bounds(SPACE.__class__(1, 2, SPACE.frequencies_khz))
    nothing = Measurement(1, STEP_S, SPACE.largest, SPACE.largest)
    assert policy.decide(nothing, bounds).target == Configuration(2, 2_000_000)


@pytest.mark.parametrize("entry", policy_entries(), ids=lambda entry: entry.name)
def test_defaults_do_not_contradict_each_other(entry: PolicyEntry) -> None:
    rules = getattr(entry.default_options(), "contradictions", None)
    if rules is not None:
        assert not list(rules(Surroundings(entry.name, 1000.0, 1, 12)))

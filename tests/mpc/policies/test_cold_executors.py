"""`foresight` does not give up executors lightly where new ones are slow to become warm."""

from dataclasses import replace

from energy.power import prior_power
from mpc.bounds import Bounds
from mpc.ports import Policy
from mpc.snapshot import load, save
from mpc.values import BatchSample, ConfigurationSpace, Decision, Measurement
from runtime.build import foresight_policy
from runtime.config import load_config

SPACE = ConfigurationSpace(1, 10, (1_200_000, 1_600_000, 2_000_000))
ROW_CYCLES, OVERHEAD_S, INTERVAL_S = 4e6, 0.5, 4.0
BUSY_PER_S, CALM_PER_S = 3_500.0, 50.0


def decisions(
    rates_per_s: list[float],
    cold_excess_s: float,
    *overrides: str,
    restarted_at: int | None = None,
) -> list[Decision]:
    """One batch a step of four seconds; three of the first run on cold executors."""
    policy: Policy = foresight_policy(
        load_config(None, ["forecast.model=last", *overrides]),
        SPACE,
        target_latency_s=8.0,
        step_s=INTERVAL_S,
        power=prior_power(10, 2_000_000, 100.0),
        plant_latency="micro-batch",
    )
    current = SPACE.largest
    decided: list[Decision] = []
    for step, rate in enumerate(rates_per_s, start=1):
        if step == restarted_at:
            policy = load(save(policy))
        rows = int(rate * INTERVAL_S)
        speed_hz = current.executors * current.frequency_khz * 1e3
        duration_s = OVERHEAD_S + rows * ROW_CYCLES / speed_hz
        batch = BatchSample(rows, duration_s, current)
        if 3 <= step < 6:
            batch = replace(batch, duration_s=duration_s + cold_excess_s, cold=True)
        measured = Measurement(
            step,
            step * INTERVAL_S,
            current,
            current,
            arrivals_per_s=rate,
            latency_s=INTERVAL_S / 2 + batch.duration_s,
            batches=(batch,),
            trigger_interval_s=INTERVAL_S,
        )
        decided.append(policy.decide(measured, Bounds(SPACE)))
        current = decided[-1].target
    return decided


def given_up(decided: list[Decision], begin: int) -> int:
    """How many steps after `begin` the first executor went."""
    before = decided[begin - 1].target.executors
    return next(
        (at - begin for at, each in enumerate(decided) if each.target.executors < before),
        len(decided),
    )


LOAD = [BUSY_PER_S] * 20 + [CALM_PER_S] * 100


def test_they_are_kept_for_as_long_as_keeping_them_is_cheaper_than_one_return() -> None:
    warm, cold = decisions(LOAD, 0.0), decisions(LOAD, 3.0)
    assert warm[19].target == cold[19].target
    assert given_up(warm, 20) <= 1
    assert 10 < given_up(cold, 20) < 80
    held = cold[25]
    assert held.target.frequency_khz == SPACE.frequencies_khz[0]
    assert "slow to come back" in held.reason
    assert cold[-1].target.executors < cold[25].target.executors


def test_a_slower_return_or_a_dearer_violation_keeps_them_longer() -> None:
    usual = given_up(decisions(LOAD, 3.0), 20)
    assert given_up(decisions(LOAD, 6.0), 20) > usual
    assert given_up(decisions(LOAD, 3.0, "cost.alpha=2.5"), 20) > usual


def test_an_excess_that_the_target_has_room_for_keeps_nobody() -> None:
    assert given_up(decisions(LOAD, 0.5), 20) <= 1


def test_what_was_learned_and_paid_survives_a_restart() -> None:
    kept = given_up(decisions(LOAD, 3.0), 20)
    middle = 20 + kept // 2
    assert given_up(decisions(LOAD, 3.0, restarted_at=middle), 20) == kept


def test_a_power_cap_comes_first() -> None:
    capped = decisions(LOAD, 3.0, "limits.power_cap_w=99")
    assert given_up(capped, 20) <= 1

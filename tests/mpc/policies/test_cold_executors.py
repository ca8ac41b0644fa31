"""`foresight` does not give up executors lightly where new ones are slow to become warm."""

from dataclasses import replace

from energy.power import prior_power
from mpc.bounds import Bounds
from mpc.policies.foresight.policy import SAFEST
from mpc.snapshot import load, save
from mpc.values import BatchSample, ConfigurationSpace, Decision, Measurement
from tests.support.contexts import context, foresight

SPACE = ConfigurationSpace(1, 10, (1_200_000, 1_600_000, 2_000_000))
ROW_CYCLES, OVERHEAD_S, INTERVAL_S = 4e6, 0.5, 4.0
BUSY_PER_S, CALM_PER_S = 3_500.0, 50.0


def decisions(
    rates_per_s: list[float],
    cold_excess_s: float,
    *overrides: str,
    restarted_at: int | None = None,
    held_for: int = 0,
    lost_at: int | None = None,
    latencies_s: list[float] | None = None,
) -> list[Decision]:
    """One batch a step of four seconds; three of the first, and every one after executors came, run
    on cold executors. Executors are given up when that was decided in more than `held_for` steps in
    a row. In the step `lost_at` two of them are missing. `latencies_s` gets what was measured."""
    power = prior_power(10, 2_000_000, 100.0)
    policy = foresight(
        context(SPACE, step_s=INTERVAL_S, target_s=8.0, power=power, latency_model="micro-batch"),
        "forecast.model=last",
        *overrides,
    )
    current = before = SPACE.largest
    decided: list[Decision] = []
    gathering_s = INTERVAL_S
    for step, rate in enumerate(rates_per_s, start=1):
        if step == restarted_at:
            policy = load(save(policy))
        rows = int(rate * INTERVAL_S)
        speed_hz = current.executors * current.frequency_khz * 1e3
        duration_s = OVERHEAD_S + rows * ROW_CYCLES / speed_hz
        batch = BatchSample(rows, duration_s, current)
        came = current.executors > before.executors or step - 1 == lost_at
        if 3 <= step < 6 or came:
            batch = replace(batch, duration_s=duration_s + cold_excess_s, cold=True)
        measured = Measurement(
            step,
            step * INTERVAL_S,
            current,
            replace(current, executors=current.executors - 2 * (step == lost_at)),
            arrivals_per_s=rate,
            latency_s=gathering_s / 2 + batch.duration_s,
            batches=(batch,),
            trigger_interval_s=INTERVAL_S,
        )
        if latencies_s is not None and measured.latency_s is not None:
            latencies_s.append(measured.latency_s)
        decided.append(policy.decide(measured, Bounds(SPACE)))
        wanted = [each.target.executors for each in decided[-held_for - 1 :]]
        before = current
        current = replace(decided[-1].target, executors=max(wanted))
        gathering_s = max(batch.duration_s, INTERVAL_S)
    return decided


def given_up(decided: list[Decision], begin: int) -> int:
    """How many steps after `begin` the first executor went."""
    before = decided[begin - 1].target.executors
    return next(
        (at for at, each in enumerate(decided[begin:]) if each.target.executors < before),
        len(decided),
    )


LOAD = [BUSY_PER_S] * 20 + [CALM_PER_S] * 100


def test_they_are_kept_for_as_long_as_keeping_them_is_cheaper_than_one_return() -> None:
    warm, cold = decisions(LOAD, 0.0), decisions(LOAD, 7.0)
    assert warm[19].target == cold[19].target
    assert given_up(warm, 20) <= 1
    assert 10 < given_up(cold, 20) < 80
    held = cold[25]
    assert held.target.frequency_khz == SPACE.frequencies_khz[0]
    assert held.reason == SAFEST
    assert cold[-1].target.executors < cold[25].target.executors


def test_a_slower_return_or_a_dearer_violation_keeps_them_longer() -> None:
    usual = given_up(decisions(LOAD, 7.0), 20)
    assert given_up(decisions(LOAD, 11.0), 20) > usual
    assert given_up(decisions(LOAD, 7.0, "cost.alpha=2.5"), 20) > usual


def test_an_excess_that_the_target_has_room_for_keeps_nobody() -> None:
    assert given_up(decisions(LOAD, 0.5), 20) <= 1


def test_what_was_learned_and_paid_survives_a_restart() -> None:
    kept = given_up(decisions(LOAD, 7.0), 20)
    middle = 20 + kept // 2
    assert given_up(decisions(LOAD, 7.0, restarted_at=middle), 20) == kept


def test_a_power_cap_comes_first() -> None:
    capped = decisions(LOAD, 7.0, "limits.power_cap_w=99")
    assert given_up(capped, 20) <= 1


def test_what_is_paid_for_is_said_until_they_are_gone() -> None:
    """A guard may want to hear for several steps that fewer are enough."""
    held = decisions(LOAD, 7.0, held_for=5)
    first = 20 + given_up(held, 20)
    assert all(each.target.executors < 10 for each in held[first : first + 5])


RISING = [CALM_PER_S + (BUSY_PER_S - CALM_PER_S) * step / 60 for step in range(60)]


def test_with_room_for_a_first_batch_they_go_at_once_and_come_back_in_time() -> None:
    """A new executor's batch takes three seconds longer, and the target is eight seconds."""
    latencies_s: list[float] = []
    load = [BUSY_PER_S] * 20 + [CALM_PER_S] * 20 + RISING
    decided = decisions(load, 3.0, latencies_s=latencies_s)
    assert given_up(decided, 20) <= 2
    numbers = [each.target.executors for each in decided[39:]]
    assert numbers[0] < 5
    assert numbers == sorted(numbers), "none is given up while the load rises"
    assert numbers[-1] == 10
    assert max(latencies_s[40:]) <= 8.0


def test_new_executors_stay_at_speed_until_they_are_warm() -> None:
    decided = decisions([2_000.0] * 40, 4.0, lost_at=30)
    before, cold, warm = (decided[step - 1].target.frequency_khz for step in (29, 31, 32))
    assert before == warm < cold

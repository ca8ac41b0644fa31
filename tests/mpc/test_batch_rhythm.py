from mpc.batch_rhythm import BatchRhythm
from mpc.values import BatchSample, Configuration, Measurement

RAN_ON = Configuration(2, 2_000_000)


def measured(*batches: BatchSample, arrivals_per_s: float | None = None) -> Measurement:
    return Measurement(
        1, 1.0, RAN_ON, RAN_ON, arrivals_per_s=arrivals_per_s, batches=batches, trigger_interval_s=2
    )


def test_the_period_is_that_of_the_last_batches_and_no_shorter_than_the_trigger() -> None:
    rhythm = BatchRhythm(step_s=1.0)
    rhythm.observe(measured(BatchSample(10, 3.0, RAN_ON), BatchSample(10, 5.0, RAN_ON)))
    assert (rhythm.period_s, rhythm.warm_period_s) == (5.0, 5.0)
    rhythm.observe(measured(BatchSample(10, 0.5, RAN_ON)))
    assert (rhythm.period_s, rhythm.warm_period_s) == (2.0, 2.0)
    rhythm.observe(measured())
    assert (rhythm.period_s, rhythm.warm_period_s) == (2.0, 2.0)


def test_how_slow_cold_executors_are_is_not_in_the_period_of_warm_ones() -> None:
    rhythm = BatchRhythm(step_s=1.0)
    rhythm.observe(measured(BatchSample(10, 3.0, RAN_ON)))
    rhythm.observe(measured(BatchSample(10, 20.0, RAN_ON, cold=True)))
    assert (rhythm.period_s, rhythm.warm_period_s) == (20.0, 3.0)


def test_arrivals_are_overdue_after_two_periods() -> None:
    rhythm = BatchRhythm(step_s=1.0)
    rhythm.observe(measured(BatchSample(10, 3.0, RAN_ON), arrivals_per_s=10.0))
    late = []
    for _ in range(8):
        rhythm.observe(measured())
        late.append(rhythm.overdue)
    assert late == [False] * 6 + [True] * 2

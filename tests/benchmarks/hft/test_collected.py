"""Predictions count as there when a consumer can read them, batch by batch."""

import pyarrow as pa

from benchmarks.hft.experiment import Collected


def batch(*due_us: int) -> pa.Table:
    # The fit itself ended long before.
    return pa.table({"due_us": due_us, "completed_us": [0] * len(due_us)})


def test_predictions_are_there_when_the_sink_has_them() -> None:
    now_s = 100.0
    collected = Collected(lambda: now_s)
    collected.write(0, batch(90_000_000, 95_500_000))
    now_s = 112.0
    collected.write(1, batch(101_000_000))
    predictions = collected.predictions()
    assert predictions.due_s.tolist() == [90.0, 95.5, 101.0]
    assert predictions.there_s.tolist() == [100.0, 100.0, 112.0]


def test_a_repeated_batch_replaces_itself() -> None:
    collected = Collected(lambda: 5.0)
    collected.write(0, batch(1_000_000))
    collected.write(0, batch(1_000_000, 2_000_000))
    assert collected.predictions().due_s.tolist() == [1.0, 2.0]


def test_nothing_came() -> None:
    assert len(Collected().predictions().due_s) == 0

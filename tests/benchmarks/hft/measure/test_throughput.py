"""The work of the stages without Spark, and the frames they are measured with."""

from benchmarks.hft.measure.throughput import alone_cpu_s


def test_the_work_of_every_python_stage_is_found() -> None:
    spent = alone_cpu_s(200_000)
    assert list(spent) == ["source", "pack", "windows", "fit"]
    assert all(seconds > 0 for seconds in spent.values())
    # Forty thousand fits for a million quotes: nothing else is near.
    assert spent["fit"] == max(spent.values())

import pytest

from benchmarks.parts.dvfs import MAX_KHZ, DvfsRow, measure
from energy.emulation.dvfs.choose import BACKENDS
from energy.emulation.dvfs.contract import Backend

ATTEMPTS = 6


def agrees(row: DvfsRow) -> bool:
    assert row.share_asked == 0.6
    assert row.share_measured is not None
    assert row.energy_j is not None
    return abs(row.share_measured - row.share_asked) <= 0.05 and row.energy_j == pytest.approx(
        row.expected_j, rel=0.05
    )


def is_quiet(row: DvfsRow) -> bool:
    """Whether nobody else held up the processes or slowed their cores down."""
    assert row.reference_cores is not None
    assert row.speed_ratio is not None
    return row.reference_cores >= 0.95 and abs(row.speed_ratio - 1.0) <= 0.03


@pytest.mark.parametrize("backend", BACKENDS)
def test_sixty_percent_of_the_frequency_is_sixty_percent_of_the_throughput(
    backend: Backend,
) -> None:
    rows = []
    for _ in range(ATTEMPTS):
        row = measure(backend, processes=1, khz=MAX_KHZ * 6 // 10, rounds=2)
        if row.unavailable is not None:
            assert row.unavailable.startswith(f"{backend}: ")
            assert row.share_measured is row.reference_cores is row.energy_j is None
            pytest.skip(row.unavailable)
        if agrees(row):
            return
        if not is_quiet(row):
            pytest.skip(f"the machine is not quiet: {row}")
        rows.append(row)
    pytest.fail(f"no agreement on a quiet machine: {rows}")

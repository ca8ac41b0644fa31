"""What a controller chooses from: what hosts have, narrowed by the configuration."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.config.schema import Frequency
from runtime.fleet.frequencies import MOST_FREQUENCIES, NoSuchFrequency, frequencies_of
from runtime.fleet.targets import HostFrequencies, HostTarget

FAST = HostFrequencies(1_200_000, 3_600_000)
TABLE = HostFrequencies(
    800_000, 2_101_000, 2_100_000, (*range(800_000, 2_100_001, 100_000), 2_101_000)
)


def test_a_fast_host_is_used_to_its_top_without_configuration() -> None:
    found = frequencies_of([FAST], Frequency())
    assert (found[0], found[-1]) == (1_200_000, 3_600_000)
    assert len(found) <= MOST_FREQUENCIES


def test_a_small_range_has_steps_of_100_mhz() -> None:
    found = frequencies_of([HostFrequencies(1_200_000, 2_000_000)], Frequency())
    assert found == tuple(range(1_200_000, 2_000_001, 100_000))


def test_turbo_is_left_out_unless_it_is_asked_for() -> None:
    assert frequencies_of([TABLE], Frequency())[-1] == 2_100_000
    assert frequencies_of([TABLE], Frequency(turbo=True))[-1] == 2_101_000


def test_the_configuration_narrows() -> None:
    narrow = Frequency(min_khz=1_000_000, max_khz=1_500_000)
    assert frequencies_of([TABLE], narrow) == tuple(range(1_000_000, 1_500_001, 100_000))
    assert frequencies_of([TABLE], Frequency(step_khz=400_000)) == (
        900_000,
        1_300_000,
        1_700_000,
        2_100_000,
    )
    assert frequencies_of([FAST], Frequency(list_khz=(900_000, 2_000_000))) == (2_000_000,)


@pytest.mark.parametrize(
    "wanted",
    [
        Frequency(min_khz=4_000_000),
        Frequency(max_khz=1_000_000),
        Frequency(list_khz=(400_000, 500_000)),
    ],
)
def test_what_no_host_has_is_refused_with_what_they_have(wanted: Frequency) -> None:
    with pytest.raises(NoSuchFrequency, match="1200000 to 3600000 kHz"):
        frequencies_of([FAST], wanted)


def test_different_hosts_share_their_common_range_and_map_it_to_their_own_tables() -> None:
    coarse = HostFrequencies(1_500_000, 3_250_000, 3_250_000, (1_500_000, 2_300_000, 3_250_000))
    found = frequencies_of([TABLE, coarse], Frequency())
    assert found == tuple(range(1_500_000, 2_100_001, 100_000))
    # At or above, so that none is slower than the plan counts on.
    assert coarse.target_khz(HostTarget(1_600_000, busy=True)) == 2_300_000
    assert coarse.target_khz(HostTarget(1_500_000, busy=True)) == 1_500_000
    assert coarse.target_khz(HostTarget(9_000_000, busy=True)) == 3_250_000
    assert TABLE.target_khz(HostTarget(1_650_000, busy=True)) == 1_700_000


def test_hosts_without_a_common_range_leave_nothing_to_choose() -> None:
    slow = HostFrequencies(800_000, 1_000_000)
    assert frequencies_of([slow, FAST], Frequency()) == (1_000_000,)


@given(
    st.integers(100_000, 4_000_000),
    st.integers(0, 4_000_000),
    st.none() | st.sets(st.integers(0, 1000), min_size=1, max_size=200),
)
def test_nothing_is_invented(low: int, width: int, shares: set[int] | None) -> None:
    table = None
    if shares is not None:
        table = tuple(sorted({low, low + width, *(low + width * each // 1000 for each in shares)}))
    host = HostFrequencies(low, low + width, table_khz=table)
    found = frequencies_of([host], Frequency())
    assert len(found) <= MOST_FREQUENCIES
    assert found[-1] == low + width
    assert all(low <= khz <= low + width for khz in found)
    assert list(found) == sorted(set(found))
    if table is not None:
        assert set(found) <= set(table)

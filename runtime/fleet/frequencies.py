"""The frequencies that a controller chooses from: what the hosts have, narrowed by the
configuration, never invented.

Different hosts have in common the range that all of them reach; within it each maps a target to its
own table (`targets.HostFrequencies.target_khz`). Turbo is left out unless the configuration asks
for it: how long a host can hold it depends on its temperature and its neighbours, so no model of
latency or power holds there (De Matteis and Mencagli 2016 turned it off). Pure.
"""

from collections.abc import Sequence

from runtime.config.schema import Frequency
from runtime.fleet.targets import HostFrequencies

USUAL_STEP_KHZ = 100_000
MOST_FREQUENCIES = 16
"""Of a grid nobody configured: finer steps than these make plans slower and no better."""


class NoSuchFrequency(ValueError):
    """The configuration asks for what no host has; says what they have."""


def frequencies_of(hosts: Sequence[HostFrequencies], wanted: Frequency) -> tuple[int, ...]:
    """Ascending. One alone means that nothing can be chosen: the hosts have no range in common."""
    if not hosts:
        raise ValueError("frequencies_of needs at least one host")
    tops_khz = [_top_khz(host, wanted.turbo) for host in hosts]
    lowest_khz, highest_khz = max(host.lowest_khz for host in hosts), min(tops_khz)
    if lowest_khz >= highest_khz:
        return (highest_khz,)
    if wanted.list_khz is not None:
        found = [khz for khz in wanted.list_khz if lowest_khz <= khz <= highest_khz]
        if not found:
            raise _outside("list_khz", wanted.list_khz, lowest_khz, highest_khz)
        return tuple(found)
    if wanted.min_khz is not None and wanted.min_khz > highest_khz:
        raise _outside("min_khz", wanted.min_khz, lowest_khz, highest_khz)
    if wanted.max_khz is not None and wanted.max_khz < lowest_khz:
        raise _outside("max_khz", wanted.max_khz, lowest_khz, highest_khz)
    low_khz = max(lowest_khz, wanted.min_khz or 0)
    high_khz = min(highest_khz, wanted.max_khz or highest_khz)
    tables = [host.table_khz for host in hosts if host.table_khz is not None]
    if not tables:
        step_khz = wanted.step_khz or _usual_step_khz(low_khz, high_khz)
        return _grid(low_khz, high_khz, step_khz)
    common = set.intersection(*(set(table) for table in tables))
    if len(common) <= 1:  # nothing to choose from: the finest table, to which others map theirs
        finest = max(len(table) for table in tables)
        common = set(next(table for table in tables if len(table) == finest))
    within = sorted(khz for khz in common if low_khz <= khz <= high_khz)
    if not within:
        # Between two entries: hosts take the one above.
        return (high_khz,)
    return _apart(within, wanted.step_khz)


def _top_khz(host: HostFrequencies, turbo: bool) -> int:
    if turbo or host.base_khz is None:
        return host.highest_khz
    return min(host.base_khz, host.highest_khz)


def _usual_step_khz(low_khz: int, high_khz: int) -> int:
    """100 MHz, or the least multiple of it that keeps the grid small."""
    steps = -(-(high_khz - low_khz) // ((MOST_FREQUENCIES - 2) * USUAL_STEP_KHZ))
    return max(steps, 1) * USUAL_STEP_KHZ


def _grid(low_khz: int, high_khz: int, step_khz: int) -> tuple[int, ...]:
    """From the highest down, which is what a busy time needs; the lowest is always in it."""
    return tuple(sorted({low_khz, *range(high_khz, low_khz - 1, -step_khz)}))


def _apart(table_khz: Sequence[int], step_khz: int | None) -> tuple[int, ...]:
    """Entries of a table at least a step apart, or spread evenly over one that is very fine."""
    if step_khz is not None:
        kept = [table_khz[-1]]
        for khz in reversed(table_khz[:-1]):
            if kept[-1] - khz >= step_khz:
                kept.append(khz)
        return tuple(reversed(kept))
    if len(table_khz) <= MOST_FREQUENCIES:
        return tuple(table_khz)
    last = len(table_khz) - 1
    places = {round(last * number / (MOST_FREQUENCIES - 1)) for number in range(MOST_FREQUENCIES)}
    return tuple(table_khz[place] for place in sorted(places))


def _outside(
    option: str, value: int | tuple[int, ...], lowest_khz: int, highest_khz: int
) -> NoSuchFrequency:
    given = list(value) if isinstance(value, tuple) else value
    return NoSuchFrequency(
        f"frequency.{option} = {given}: the hosts have {lowest_khz} to {highest_khz} kHz in "
        "common; leave it out to use all of them, or set frequency.turbo = true for those of turbo"
    )

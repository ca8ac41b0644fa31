"""Totals over hosts: all known or none, with the honest label."""

from dataclasses import replace

import pytest

from mpc.values import HostReading, PowerSource
from runtime.fleet.state import ExecutorUse, FleetState, HostState


def host(
    name: str,
    power_w: float | None = 10.0,
    source: PowerSource | None = "measured",
    effective_khz: int | None = 1_500_000,
    executors: tuple[ExecutorUse, ...] | None = (),
) -> HostState:
    return HostState(
        name,
        reachable=True,
        effective_khz=effective_khz,
        power_w=power_w,
        source=source,
        executors=executors,
    )


def test_the_power_of_all_hosts_is_known_or_it_is_not() -> None:
    assert FleetState((host("a"), host("b", 5.5))).power_w == 15.5
    half = FleetState((host("a"), host("b", None)))
    assert (half.power_w, half.source) == (None, None)
    assert FleetState(()).power_w is None


@pytest.mark.parametrize(
    ("sources", "label"),
    [
        (("measured", "measured"), "measured"),
        (("measured", "modelled"), "modelled"),
        (("modelled", "emulated"), "emulated"),
        (("emulated", "measured"), "emulated"),
    ],
)
def test_a_total_is_as_good_as_its_worst_part(
    sources: tuple[PowerSource, PowerSource], label: PowerSource
) -> None:
    state = FleetState((host("a", source=sources[0]), host("b", source=sources[1])))
    assert state.source == label
    assert set(state.sources) == set(sources)


def test_a_busy_host_without_an_agent_makes_totals_unknown() -> None:
    state = FleetState((host("a"),), frozenset({"a", "x"}))
    assert state.unserved == ("x",)
    assert (state.power_w, state.frequency_khz) == (None, None)


def test_the_frequency_is_that_of_the_slowest_busy_host() -> None:
    hosts = (
        host("a", effective_khz=1_800_000),
        host("b", effective_khz=1_600_000),
        host("idle", effective_khz=1_200_000),
        host("unknown", effective_khz=None),
    )
    assert FleetState(hosts, frozenset({"a", "b"})).frequency_khz == 1_600_000
    assert FleetState(hosts, frozenset({"a", "unknown"})).frequency_khz is None
    assert FleetState(hosts).frequency_khz is None


def test_cpu_times_by_application_and_executor() -> None:
    state = FleetState(
        (
            host("a", executors=(ExecutorUse("app", "0", 1, 2.5),)),
            host("b", executors=(ExecutorUse("app", "1", 1, 0.5), ExecutorUse("other", "0", 1, 9))),
            host("c", executors=None),
        )
    )
    assert state.cpu_s == {("app", "0"): 2.5, ("app", "1"): 0.5, ("other", "0"): 9}
    assert state.host("b").name == "b"


def test_readings_split_a_host_into_the_application_and_the_rest() -> None:
    uses = (
        ExecutorUse("app", "1", 2, 10.0, 1.5),
        ExecutorUse("app", "2", 2, 10.0, 0.5),
        ExecutorUse("other", "1", 4, 10.0, 1.0),
    )
    host = HostState(
        "a",
        reachable=True,
        effective_khz=1_800_000,
        power_w=40.0,
        source="measured",
        executors=uses,
        busy_cores=5.0,
        clock_khz=1_700_000,
    )
    (reading,) = FleetState((host,)).readings("app")
    assert reading == HostReading("a", 40.0, "measured", 2.0, 3.0, 1_800_000, 1_700_000, 2, 4)
    (everything,) = FleetState((host,)).readings(None)
    assert (everything.executor_cores, everything.other_cores) == (3.0, 2.0)
    # Two counters with ticks of their own: never more than the whole.
    (bounded,) = FleetState((replace(host, busy_cores=1.0),)).readings("app")
    assert (bounded.executor_cores, bounded.other_cores) == (1.0, 0.0)


def test_a_host_that_says_nothing_has_an_empty_reading() -> None:
    (reading,) = FleetState((HostState("a", reachable=False),)).readings("app")
    assert reading == HostReading("a")

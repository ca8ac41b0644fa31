"""Every driver personality of the emulated host: capped, throttled, released, as it was before."""

from collections.abc import Sequence
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from energy.cpufreq.discover import discover
from energy.cpufreq.originals import Original, Written, own_values, restore, save_original
from energy.cpufreq.policy import LimitRequest
from energy.emulation.description import Cooling, HostDescription
from energy.emulation.drivers import DRIVERS, Driver
from energy.errors import FrequencyDenied
from tests.energy.cpufreq.actuators import apply_limits
from tests.support.faulty_host import FaultyHost

frequencies_khz = st.integers(24, 48).map(lambda steps: steps * 50_000)
requests = st.builds(LimitRequest, st.just("policy0"), frequencies_khz, st.none() | frequencies_khz)
caps_khz = st.none() | frequencies_khz


def soon(pause_s: float) -> None:
    """Time that passes at once."""


@given(
    st.sampled_from(DRIVERS),
    st.sampled_from(get_args(Cooling)),
    st.sampled_from((0, 2)),
    st.lists(st.tuples(caps_khz, requests), min_size=1, max_size=5),
)
def test_capped_throttled_and_released_is_as_before(
    driver: Driver,
    cooling: Cooling,
    lag_reads: int,
    steps: Sequence[tuple[int | None, LimitRequest]],
) -> None:
    host = FaultyHost(HostDescription(driver=driver, cpus=2, cooling=cooling, lag_reads=lag_reads))
    before = host.snapshot()
    policies = {policy.name: policy for policy in discover(host)}
    policy = policies["policy0"]
    original: Original | None = None
    written = Written()
    for cap_khz, request in steps:
        host.thermal_cap("policy0", cap_khz)
        original = original or save_original(host, policy)
        lower_khz = () if request.min_khz is None else (request.min_khz,)
        wider = Written((*written.max_khz, request.max_khz), (*written.min_khz, *lower_khz))
        try:
            apply_limits(host, policies, [request], may_move_minimum=True, wait=soon)
        except FrequencyDenied:
            continue
        written = wider
        assert all(own_values(host, policy, original, written).values())
    assert original is not None
    assert restore(host, policy, original, written, wait=soon).left_alone == ()
    host.thermal_cap("policy0", None)
    assert host.snapshot() == before

"""The sweep finds the model of a known host, and runs end to end on an emulated one."""

import os
from pathlib import Path

import numpy as np
import pytest

from energy.power import CalibratedPower, prior_power
from runtime.build import live_power, simulated_space
from runtime.calibration.load import BusyExecutors
from runtime.calibration.result import cluster_model, fitted, power_toml
from runtime.calibration.sweep import CannotCalibrate, SweepPlan, places, swept
from runtime.config import ConfigError, load_config
from runtime.fleet.local import LocalHosts
from tests.runtime.calibration.fake_host import MAX_KHZ, MIN_KHZ, FakeHost

MODEL = CalibratedPower(20.0, 8.0, 6.0, 0.5)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_model_of_a_host_is_found(share: float) -> None:
    """Also where the processes do not get the CPU time they ask for."""
    host = FakeHost(MODEL, share=share)
    told: list[float] = []
    sweep = swept(host, host, SweepPlan(points=9), lambda p: told.append(p.power_w), host.sleep)
    result = fitted(sweep)
    assert len(told) == 9
    assert result.error < 0.01
    assert result.left_out_error < 0.05
    grid = np.arange(5)[:, None], np.array([[MIN_KHZ, MAX_KHZ]])
    assert result.model.power_w(*grid) == pytest.approx(MODEL.power_w(*grid), rel=0.03)
    assert (host.released, host.count, host.leased) == (1, 0, False)


def test_the_lease_is_given_back_when_something_fails() -> None:
    host = FakeHost(MODEL)

    def fails(_point: object) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        swept(host, host, SweepPlan(), fails, host.sleep)
    assert (host.released, host.count) == (1, 0)


def test_places_reach_all_corners() -> None:
    found = places(FakeHost(MODEL).hello(), SweepPlan(points=7))
    assert {(0, MIN_KHZ), (0, MAX_KHZ), (4, MIN_KHZ), (4, MAX_KHZ)} <= set(found)
    fewer = places(FakeHost(MODEL).hello(), SweepPlan(points=7, executors=2))
    assert max(executors for executors, _ in fewer) == 2


@pytest.mark.parametrize(
    ("source", "told"), [(None, "cannot measure energy: no powercap"), ("modelled", "only models")]
)
def test_a_host_that_measures_nothing_is_refused(source: str | None, told: str) -> None:
    host = FakeHost(MODEL, source=source)
    with pytest.raises(CannotCalibrate, match=told):
        swept(host, host, SweepPlan(), lambda _: None, host.sleep)
    assert not host.leased


def test_a_load_that_never_came_is_no_calibration() -> None:
    host = FakeHost(MODEL, share=0.0)
    sweep = swept(host, host, SweepPlan(), lambda _: None, host.sleep)
    with pytest.raises(CannotCalibrate, match="did not change enough"):
        fitted(sweep)


def test_the_file_is_the_model_of_the_cluster(tmp_path: Path) -> None:
    host = FakeHost(MODEL)
    result = fitted(swept(host, host, SweepPlan(points=9), lambda _: None, host.sleep))
    file = tmp_path / "power.toml"
    file.write_text(power_toml(result, hosts=3, executor_cores=2))
    config = load_config(file)
    power = live_power(config, simulated_space(config))
    expected = cluster_model(result.model, 3, 2)
    assert power.power_w(5, 2_000_000) == pytest.approx(expected.power_w(5, 2_000_000), rel=1e-4)
    # Two busy cores on each host: the cluster is three times the host.
    one_host_w = MODEL.power_w(2, 2_000_000)
    assert expected.power_w(3, 2_000_000) == pytest.approx(3 * one_host_w, rel=0.03)


def test_a_model_stands_as_a_whole_and_alone() -> None:
    whole = [
        "power.base_w=1",
        "power.per_ghz_w=1",
        "power.per_executor_ghz_w=1",
        "power.per_executor_ghz3_w=0",
    ]
    config = load_config(None, [*whole, "limits.power_cap_w=50"])
    assert live_power(config, simulated_space(config)) == CalibratedPower(1.0, 1.0, 1.0, 0.0)
    with pytest.raises(ConfigError, match=r"must stand together with power\.per_ghz_w"):
        load_config(None, [whole[0], *whole[2:]])
    with pytest.raises(ConfigError, match="must not stand beside a model"):
        load_config(None, [*whole, "power.full_power_w=100"])
    with pytest.raises(ConfigError, match="as all the others are"):
        load_config(None, [f"{option.partition('=')[0]}=0" for option in whole])


def test_an_emulated_host_is_calibrated_end_to_end() -> None:
    """Busy processes, a real agent, its socket. Each emulated CPU is a small part of a real one, so
    that the processes get it also on a machine that is busy with other things."""
    name = f"calibrate-{os.getpid()}"
    plan = SweepPlan(settle_s=2.0, measure_s=2.0, points=5)
    with (
        LocalHosts([name], cpus=2, full_power_w=100.0, cores_share=0.05) as hosts,
        hosts.agents[name]() as client,
        BusyExecutors(name) as load,
    ):
        hello = client.hello()
        sweep = swept(client, load, plan, lambda _: None)
        assert client.status().holder is None
    assert load.count == 0
    assert sweep.source == "emulated"
    assert [point.frequency_khz for point in sweep.points] == [
        khz for _, khz in places(hello, plan)
    ]
    result = fitted(sweep)
    prior = prior_power(2, 2_000_000, 100.0)
    idle = [point for point in sweep.points if point.executors == 0]
    assert idle
    for point in idle:
        assert point.power_w == pytest.approx(float(prior.power_w(0, point.frequency_khz)), rel=0.1)
    assert result.model.power_w(2, 2_000_000) > result.model.power_w(0, 1_200_000)

"""The power of a cluster from the readings of its hosts."""

from dataclasses import replace

import numpy as np
import pytest

from energy.power import CalibratedPower, ProportionalPower, prior_power
from mpc import snapshot
from mpc.learned_power import LearnedPower
from mpc.values import Configuration, HostReading, Measurement

KHZ = tuple(range(1_200_000, 2_000_001, 200_000))
PRIOR = prior_power(8, KHZ[-1], 1.0)
HOSTS = {"a": CalibratedPower(20.0, 4.0, 2.0, 0.5), "b": CalibratedPower(35.0, 9.0, 1.0, 1.5)}


def step(number: int, generator: np.random.Generator, other_cores: float = 0.0) -> Measurement:
    khz = int(generator.choice(KHZ))
    readings = []
    for name, host in HOSTS.items():
        cores = float(generator.uniform(0.0, 4.0))
        readings.append(
            HostReading(
                name,
                power_w=float(host.power_w(cores + other_cores, khz)),
                power_source="measured",
                executor_cores=cores,
                other_cores=other_cores,
                frequency_khz=2_000_000,
                clock_khz=khz,
                executors=2,
                executor_slots=4,
            )
        )
    ran = Configuration(4, khz)
    return Measurement(number, float(number), ran, ran, hosts=tuple(readings))


def taught(steps: int, other_cores: float = 0.0) -> LearnedPower:
    power, generator = LearnedPower(PRIOR, in_watts=False), np.random.default_rng(4)
    for number in range(steps):
        power.observe(step(number, generator, other_cores))
    return power


@pytest.mark.parametrize("other_cores", [0.0, 1.5])
def test_a_cluster_draws_the_sum_of_its_hosts(other_cores: float) -> None:
    power = taught(300, other_cores)
    executors = np.arange(0, 5)[:, None]
    # Two cores an executor, half of them on each host, and what else is busy on both.
    cores = executors * 2 / 2 + other_cores
    true_w = sum(host.power_w(cores, np.array(KHZ)) for host in HOSTS.values())
    assert power.model.power_w(executors, np.array(KHZ)) == pytest.approx(true_w, rel=0.05)
    figure = power.figure
    assert (figure.origin, figure.learned_hosts, figure.hosts) == ("learned", 2, 2)
    assert figure.words.startswith("learned, ")
    assert figure.words.endswith("% off (2 of 2 hosts)")


def test_before_any_reading_there_is_the_prior() -> None:
    power = LearnedPower(PRIOR, in_watts=False)
    assert power.model is PRIOR
    assert power.figure.words == "modelled"


def test_a_host_without_a_meter_is_like_the_others() -> None:
    power, generator = LearnedPower(PRIOR, in_watts=False), np.random.default_rng(4)
    twice = LearnedPower(PRIOR, in_watts=False)
    for number in range(100):
        measured = step(number, generator)
        known, _ = measured.hosts
        silent = replace(known, name="silent", power_w=None)
        power.observe(replace(measured, hosts=(known, silent)))
        twice.observe(replace(measured, hosts=(known, replace(known, name="other"))))
    expected_w = twice.model.power_w(2, 2_000_000)
    assert power.model.power_w(2, 2_000_000) == pytest.approx(float(expected_w))
    assert power.figure.hosts == 2


def test_nothing_is_learned_from_a_modelled_power() -> None:
    power, generator = LearnedPower(PRIOR, in_watts=False), np.random.default_rng(4)
    for number in range(50):
        measured = step(number, generator)
        hosts = tuple(replace(host, power_source="modelled") for host in measured.hosts)
        power.observe(replace(measured, hosts=hosts))
    assert power.model is PRIOR


def test_a_prior_of_another_family_stays() -> None:
    power = LearnedPower(ProportionalPower(), in_watts=False)
    power.observe(step(0, np.random.default_rng(4)))
    assert isinstance(power.model, ProportionalPower)


def test_what_was_learned_survives_a_snapshot() -> None:
    power = taught(60)
    restored = snapshot.load(snapshot.save(power))
    assert restored.model == power.model
    assert restored.figure == power.figure

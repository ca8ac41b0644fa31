"""What the tests of the emulated kernel share: hosts of every driver, and short ways to files."""

import os

import pytest

from energy.emulation.description import HostDescription
from energy.emulation.drivers import DRIVERS, Driver
from energy.tree import CPUFREQ
from tests.support.faulty_host import FaultyHost

GENOA = HostDescription(
    driver="acpi-cpufreq",
    min_khz=1_500_000,
    max_khz=3_800_241,
    base_khz=3_250_000,
    table_khz=(1_500_000, 2_300_000, 3_250_000),
)
"""A table that ends below the hardware's maximum, as on a real machine."""

every_driver = pytest.mark.parametrize("driver", DRIVERS)


def host_of(driver: Driver, cpus: int = 2) -> FaultyHost:
    return FaultyHost(
        HostDescription(
            driver=driver,
            cpus=cpus,
            min_khz=1_200_000,
            max_khz=3_600_000,
            base_khz=2_400_000,
            packages=min(2, cpus),
        )
    )


def at(name: str, policy: int = 0) -> str:
    return f"{CPUFREQ}/policy{policy}/{name}"


def shown(host: FaultyHost, name: str, policy: int = 0) -> str:
    return host.read(at(name, policy)).removesuffix("\n")


def limits(host: FaultyHost, policy: int = 0) -> tuple[int, int]:
    return (
        int(host.read(at("scaling_min_freq", policy))),
        int(host.read(at("scaling_max_freq", policy))),
    )


def refused(number: int) -> "pytest.RaisesExc[OSError]":
    """The block must fail with this error of the kernel."""
    return pytest.raises(OSError, match=os.strerror(number), check=lambda e: e.errno == number)

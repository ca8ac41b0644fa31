from pathlib import Path

import pytest

from energy.cpufreq.discover import read_policy
from energy.cpufreq.throttling import Throttling, throttled_khz
from energy.tree import CPU, CPUFREQ, THERMAL, FolderTree
from tests.energy.cpufreq.kernel import Kernel, KernelPolicy

TABLE = (1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000)


def folder(root: Path, policy: KernelPolicy, files: dict[str, str]) -> FolderTree:
    """A host in plain files: one policy, and whatever stands beside it."""
    own = {f"{CPUFREQ}/policy0/{name}": text for name, text in policy.attributes().items()}
    for path, text in {**own, **files}.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return FolderTree(root)


def cooling(kind: str, state: str) -> dict[str, str]:
    device = f"{THERMAL}/cooling_device0"
    return {f"{device}/type": kind, f"{device}/cur_state": state}


def test_nothing_throttles_a_cool_host() -> None:
    kernel = Kernel(KernelPolicy())
    policy = read_policy(kernel, "policy0")
    assert throttled_khz(kernel, policy) is None
    assert not Throttling(kernel).holds(policy, 2_000_000)
    assert Throttling(kernel).is_unlimited(policy, 3_000_000)


def test_the_firmware_limit_is_exact() -> None:
    kernel = Kernel(KernelPolicy(table_khz=TABLE, bios_khz=2_100_000))
    policy = read_policy(kernel, "policy0")
    throttling = Throttling(kernel)
    assert throttled_khz(kernel, policy) == 2_100_000
    assert throttling.holds(policy, 2_000_000)  # as the table shows it
    assert not throttling.holds(policy, 1_500_000)
    assert not throttling.holds(policy, 2_500_000)


@pytest.mark.parametrize(
    ("state", "held_khz", "free_khz"),
    [(1, 2_400_000, 2_399_999), (2, 1_800_000, 1_799_999), (2, 2_400_000, 2_400_001)],
)
def test_a_processor_steps_down_by_fifths(state: int, held_khz: int, free_khz: int) -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1, cooling_state=state))
    policy = read_policy(kernel, "policy0")  # nothing says whose CPU a Processor is
    throttling = Throttling(kernel)
    assert throttling.holds(policy, held_khz)
    assert not throttling.holds(policy, free_khz)


def test_beyond_the_last_step_anything_lower_can_be_heat() -> None:
    kernel = Kernel(KernelPolicy(cooling_state=3))
    policy = read_policy(kernel, "policy0")
    assert throttled_khz(kernel, policy) == 1_000_000
    assert Throttling(kernel).holds(policy, 1_000_000)
    assert not Throttling(kernel).holds(policy, 1_900_000)


@pytest.mark.parametrize(
    ("kind", "state", "held"),
    [
        ("cpufreq-cpu0", "2", True),
        ("cpufreq-cpu0", "0", False),
        ("cpufreq-cpu0", "lots", False),
        ("cpufreq-cpu7", "2", False),
        ("thermal-cpufreq-3", "2", True),
        ("intel_powerclamp", "50", False),
        ("Fan", "1", False),
    ],
)
def test_which_cooling_devices_count(tmp_path: Path, kind: str, state: str, held: bool) -> None:
    tree = folder(tmp_path, KernelPolicy(table_khz=TABLE), cooling(kind, state))
    policy = read_policy(tree, "policy0")
    assert Throttling(tree).holds(policy, 2_000_000) is held


def test_turbo_switched_off_holds_at_the_base_frequency(tmp_path: Path) -> None:
    base = KernelPolicy(driver="intel_pstate", extra={"base_frequency": "2200000"})
    no_turbo = f"{CPU}/intel_pstate/no_turbo"
    tree = folder(tmp_path, base, {no_turbo: "1"})
    policy = read_policy(tree, "policy0")
    assert throttled_khz(tree, policy) == 2_200_000
    (tmp_path / no_turbo[1:]).write_text("0\n")
    assert throttled_khz(tree, policy) is None


def test_cooling_devices_are_read_once_for_a_round() -> None:
    hot = KernelPolicy(cooling_state=1)
    kernel = Kernel(hot)
    policy = read_policy(kernel, "policy0")
    throttling = Throttling(kernel)
    assert throttling.holds(policy, 2_400_000)
    hot.cooling_state = 0
    assert throttling.holds(policy, 2_400_000)
    assert not Throttling(kernel).holds(policy, 2_400_000)

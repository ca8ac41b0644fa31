"""A small kernel of our own to test against: requests, clamping, tables, throttles, hot-plug.

It is written from the kernel's source and not from the code under test, and shares nothing with it
but paths. `Cut` is a process that dies before its n-th access to the tree.
"""

import errno
import os
from dataclasses import dataclass, field

from energy.tree import CPUFREQ, THERMAL, Tree

PROCESSOR = "Processor"


@dataclass
class KernelPolicy:
    """One policy: requests as they were made, and what they come to."""

    cpu: int = 0
    hardware_min_khz: int = 1_000_000
    hardware_max_khz: int = 3_000_000
    table_khz: tuple[int, ...] | None = None
    user_min_khz: int = 0
    user_max_khz: int = 2**31 - 1
    bios_khz: int | None = None
    cooling_state: int = 0
    governor: str = "schedutil"
    governors: tuple[str, ...] = ("userspace", "powersave", "performance", "schedutil")
    driver: str = "acpi-cpufreq"
    speed_khz: int = 3_000_000
    online: bool = True
    extra: dict[str, str] = field(default_factory=dict)

    def limits_khz(self) -> tuple[int, int]:
        thermal_khz = self.hardware_max_khz * (100 - 20 * self.cooling_state) // 100
        max_khz = min(self.user_max_khz, thermal_khz, self.bios_khz or thermal_khz)
        max_khz = max(min(max_khz, self.hardware_max_khz), self.hardware_min_khz)
        min_khz = min(max(self.user_min_khz, self.hardware_min_khz), max_khz)
        if self.table_khz is None:
            return min_khz, max_khz
        if not [khz for khz in self.table_khz if min_khz <= khz <= max_khz]:
            max_khz = min(khz for khz in (*self.table_khz, 2**31) if khz > max_khz)
            max_khz = min(max_khz, self.hardware_max_khz)
        below = [khz for khz in self.table_khz if khz <= max_khz]
        max_khz = below[-1] if below else self.table_khz[0]
        above = [khz for khz in self.table_khz if khz >= min_khz]
        return min(above[0] if above else self.table_khz[-1], max_khz), max_khz

    def running_khz(self) -> int:
        min_khz, max_khz = self.limits_khz()
        khz = min(max(self.speed_khz, min_khz), max_khz)
        if self.table_khz is not None:
            khz = min(entry for entry in (*self.table_khz, 2**31) if entry >= khz)
        return min(khz, max_khz)

    def attributes(self) -> dict[str, str]:
        min_khz, max_khz = self.limits_khz()
        userspace = self.governor == "userspace"
        files = {
            "affected_cpus": f"{self.cpu}",
            "related_cpus": f"{self.cpu}",
            "cpuinfo_min_freq": f"{self.hardware_min_khz}",
            "cpuinfo_max_freq": f"{self.hardware_max_khz}",
            "scaling_min_freq": f"{min_khz}",
            "scaling_max_freq": f"{max_khz}",
            "scaling_cur_freq": f"{self.running_khz() if userspace else max_khz}",
            "scaling_driver": self.driver,
            "scaling_governor": self.governor,
            "scaling_available_governors": " ".join(self.governors) + " ",
            "scaling_setspeed": f"{self.running_khz()}" if userspace else "<unsupported>",
            "bios_limit": f"{self.bios_khz or self.hardware_max_khz}",
            **self.extra,
        }
        if self.table_khz is not None:
            entries = " ".join(str(khz) for khz in reversed(self.table_khz))
            files["scaling_available_frequencies"] = entries + " "
        return files

    def store(self, attribute: str, text: str) -> None:
        if attribute == "scaling_governor":
            if text not in self.governors:
                raise OSError(errno.EINVAL, "governor")
            self.governor = text
        elif attribute == "scaling_setspeed":
            if self.governor != "userspace":
                raise OSError(errno.EINVAL, "setspeed")
            self.speed_khz = int(text)
        elif attribute == "scaling_max_freq":
            self.user_max_khz = _plain(text)
        elif attribute == "scaling_min_freq":
            self.user_min_khz = _plain(text)
        else:
            raise OSError(errno.EACCES, attribute)


class Kernel:
    """A `Tree` of policies, numbered as given."""

    def __init__(self, *policies: KernelPolicy, lag_reads: int = 0) -> None:
        self.policies = {f"policy{number}": policy for number, policy in enumerate(policies)}
        self.faults: dict[tuple[str, str], int] = {}
        """(action, end of the path) to the error it gives."""
        self.deaf: set[str] = set()
        """Attributes that take every value and keep their own."""
        self.log: list[tuple[str, str]] = []
        """What was written, in order: (end of the path, text)."""
        self._lag_reads = lag_reads
        self._stale: dict[str, tuple[int, str]] = {}

    def read(self, path: str) -> str:
        self._check("read", path)
        if path.startswith(THERMAL):
            return self._read_cooling(path)
        name, attribute = self._find(path)
        text = self.policies[name].attributes().get(attribute)
        if text is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        left, old = self._stale.pop(path, (0, text))
        if left > 1:
            self._stale[path] = (left - 1, old)
        return f"{old}\n"

    def write(self, path: str, text: str) -> None:
        self._check("write", path)
        name, attribute = self._find(path)
        folder = f"{CPUFREQ}/{name}"
        old = {
            f"{folder}/{limit}": self.policies[name].attributes()[limit]
            for limit in ("scaling_max_freq", "scaling_min_freq")
        }
        self.log.append((f"{name}/{attribute}", text))
        if attribute not in self.deaf:
            self.policies[name].store(attribute, text)
        if self._lag_reads:
            self._stale = {
                **{limit: (self._lag_reads, text) for limit, text in old.items()},
                **{limit: stale for limit, stale in self._stale.items() if limit not in old},
            }

    def names(self, path: str) -> tuple[str, ...]:
        if path == CPUFREQ:
            return tuple(sorted(self.policies))
        if path == THERMAL:
            return tuple(f"cooling_device{number}" for number in range(len(self.policies)))
        return ()

    def mode(self, path: str) -> int | None:
        return 0o644

    def settle(self) -> None:
        """Time passes: whatever was written is in force."""
        self._stale.clear()

    def text(self, name: str, attribute: str) -> str:
        """What is in force, past lag and faults."""
        return self.policies[name].attributes()[attribute]

    def _read_cooling(self, path: str) -> str:
        device, _, attribute = path.removeprefix(f"{THERMAL}/cooling_device").partition("/")
        policy = list(self.policies.values())[int(device)]
        return PROCESSOR if attribute == "type" else f"{policy.cooling_state}\n"

    def _find(self, path: str) -> tuple[str, str]:
        name, _, attribute = path.removeprefix(f"{CPUFREQ}/").partition("/")
        if name not in self.policies:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if not self.policies[name].online:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        return name, attribute

    def _check(self, action: str, path: str) -> None:
        for (faulty, end), number in self.faults.items():
            if faulty == action and path.endswith(end):
                raise OSError(number, os.strerror(number), path)


class Died(BaseException):
    """The process was killed: nothing in it may run any more, no handler either."""


class Cut:
    """The same tree, until the process dies before access number `accesses`."""

    def __init__(self, tree: Tree, accesses: int | None) -> None:
        self._tree = tree
        self._left = accesses

    def read(self, path: str) -> str:
        self._count()
        return self._tree.read(path)

    def write(self, path: str, text: str) -> None:
        self._count()
        self._tree.write(path, text)

    def names(self, path: str) -> tuple[str, ...]:
        self._count()
        return self._tree.names(path)

    def mode(self, path: str) -> int | None:
        self._count()
        return self._tree.mode(path)

    def _count(self) -> None:
        if self._left == 0:
            raise Died
        if self._left is not None:
            self._left -= 1


def _plain(text: str) -> int:
    # Stricter than the kernel: nothing but plain decimal may ever be sent to it.
    if not text.isdecimal() or (text[0] == "0" and text != "0"):
        raise AssertionError(f"not plain decimal: {text!r}")
    return int(text)

"""What can go wrong on a host, in one tree. Every message says where, what, and what is allowed.

HostError
├── FrequencyDenied       the value is outside what the policy allows
├── PolicyUnknown         no such policy on this host
├── PolicyInactive        the CPUs of the policy are offline (EBUSY)
├── ModeUnsupported       driver or governor do not offer what was asked
├── AttributeFault        one file could not be read or written
│   ├── AttributeMissing  the kernel has no such file (ENOENT, ENODEV)
│   ├── AccessDenied      not permitted (EACCES, EPERM)
│   ├── ReadOnlyTree      mounted read-only (EROFS)
│   ├── ValueRejected     the kernel called the value invalid (EINVAL, ERANGE)
│   ├── ValueIgnored      the kernel took the value and kept another
│   ├── ValueGarbled      the file holds what no kernel writes
│   └── DeviceFault       the device failed (EIO and whatever else there is)
├── MeterUnavailable      no energy can be read here, with the reason
└── ThrottleUnavailable   processes cannot be slowed down here, with the reason
"""

import errno
import os


class HostError(Exception):
    """Base of everything that a host, real or emulated, refuses or fails to do."""


class FrequencyDenied(HostError):
    def __init__(self, policy: str, value_khz: int, allowed: str) -> None:
        super().__init__(f"{policy}: {value_khz} kHz is not allowed, must be {allowed}")
        self.policy = policy
        self.value_khz = value_khz
        self.allowed = allowed


class PolicyUnknown(HostError):
    def __init__(self, policy: str) -> None:
        super().__init__(f"{policy}: no such frequency policy on this host")
        self.policy = policy


class PolicyInactive(HostError):
    def __init__(self, policy: str) -> None:
        super().__init__(f"{policy}: inactive, all of its CPUs are offline")
        self.policy = policy


class ModeUnsupported(HostError):
    """Driver or governor do not offer what was asked; the message says what they do offer."""


class AttributeFault(HostError):
    """One file that could not be read or written."""

    words = "failed"

    def __init__(self, path: str, action: str, number: int) -> None:
        name = errno.errorcode.get(number, str(number))
        super().__init__(f"{path}: {self.words} ({action}: {name}, {os.strerror(number)})")
        self.path = path
        self.action = action
        self.number = number


class AttributeMissing(AttributeFault):
    words = "the kernel offers no such file"


class AccessDenied(AttributeFault):
    words = "permission denied, the agent must run as root"


class ReadOnlyTree(AttributeFault):
    words = "the tree is mounted read-only, open it with ReadWritePaths= in the unit"


class ValueRejected(AttributeFault):
    words = "the kernel called the value invalid"


class ValueIgnored(AttributeFault):
    words = "the kernel took the value and kept another"

    def __init__(self, path: str) -> None:
        super().__init__(path, "read back", errno.EIO)


class ValueGarbled(AttributeFault):
    def __init__(self, path: str, text: str) -> None:
        self.words = f"holds {text[:60]!r}, which no kernel writes there"
        super().__init__(path, "read", errno.EBADMSG)


class DeviceFault(AttributeFault):
    words = "the device failed"


class MeterUnavailable(HostError):
    """No energy can be read here; the message is the reason, in words for a person."""


class ThrottleUnavailable(HostError):
    """Processes cannot be slowed down here; the message is the reason, in words for a person."""


_FAULTS: dict[int, type[AttributeFault]] = {
    errno.ENOENT: AttributeMissing,
    errno.ENODEV: AttributeMissing,
    errno.EACCES: AccessDenied,
    errno.EPERM: AccessDenied,
    errno.EROFS: ReadOnlyTree,
    errno.EINVAL: ValueRejected,
    errno.ERANGE: ValueRejected,
}


def attribute_fault(path: str, action: str, error: OSError) -> AttributeFault:
    """The error of the tree for what the kernel answered; `action` is "read" or "write"."""
    number = error.errno or errno.EIO
    return _FAULTS.get(number, DeviceFault)(path, action, number)

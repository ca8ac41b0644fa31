"""Which throttle: the one that is asked for, or the first that works here."""

from collections.abc import Callable
from typing import Literal

from energy.emulation.dvfs.cgroup_versions import cgroup_v1, cgroup_v2
from energy.emulation.dvfs.contract import Backend, Throttle
from energy.emulation.dvfs.duty_cycle import DutyCycle
from energy.errors import ThrottleUnavailable

BACKENDS: dict[Backend, Callable[[], Throttle]] = {
    "cgroup-v1": cgroup_v1,
    "cgroup-v2": cgroup_v2,
    "duty-cycle": DutyCycle,
}
"""In the order of `auto`: what the kernel does itself disturbs the processes least."""


def choose_throttle(name: Backend | Literal["auto", "none"]) -> Throttle | None:
    """None for "none"; raises `ThrottleUnavailable` with every reason."""
    if name == "none":
        return None
    reasons = []
    for backend, make in BACKENDS.items():
        if name in ("auto", backend):
            try:
                return make()
            except ThrottleUnavailable as error:
                reasons.append(str(error))
    raise ThrottleUnavailable("; ".join(reasons))

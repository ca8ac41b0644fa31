"""The power of a host that nobody has measured: shares of what it draws under full load.

P/Pmax = 0.081 + 0.168 phi + 0.576 x phi + 0.175 x phi^3 with x = n/N and phi = f/fmax. On plain
floats, so that a small agent needs no arrays; `energy.power.prior_power` covers whole grids.
"""

from collections.abc import Callable

BASE_SHARE = 0.081
FREQUENCY_SHARE = 0.168
BUSY_SHARE = 0.576
BUSY_CUBIC_SHARE = 0.175

PowerFunction = Callable[[float, float], float]
"""(busy cores, frequency in kHz) -> W."""


def prior_watts(cores: int, max_khz: int, full_power_w: float) -> PowerFunction:
    def power_w(busy_cores: float, khz: float) -> float:
        busy, speed = busy_cores / cores, khz / max_khz
        host = BASE_SHARE + FREQUENCY_SHARE * speed
        return full_power_w * (host + busy * (BUSY_SHARE * speed + BUSY_CUBIC_SHARE * speed**3))

    return power_w

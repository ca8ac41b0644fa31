"""Power in watts on plain floats: `energy.power` without its arrays, for the small agent.

Every model there fits too, as `lambda busy, khz: float(model.power_w(busy, khz))`.
"""

from collections.abc import Callable

PowerFunction = Callable[[float, float], float]
"""(busy cores, frequency in kHz) -> W."""


def prior_watts(cores: int, max_khz: int, full_power_w: float) -> PowerFunction:
    """The same watts as `energy.power.prior_power`, which says where the numbers are from."""

    def power_w(busy_cores: float, khz: float) -> float:
        busy, speed = busy_cores / cores, khz / max_khz
        host = 0.081 + 0.168 * speed
        return full_power_w * (host + busy * (0.576 * speed + 0.175 * speed**3))

    return power_w

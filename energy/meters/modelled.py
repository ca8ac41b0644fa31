"""The meter of a host without counters: a power model over utilisation and frequency.

It measures nothing and says so: every reading is labelled "modelled". The model is the prior of
`energy.power` for a host nobody has calibrated, scaled to the power of the host under full load.
"""

import re
from collections.abc import Callable

import psutil

from energy.errors import MeterUnavailable
from energy.meters.contract import EnergyReading, MeterName, PowerSource, Zone
from energy.power import PowerModel, prior_power
from energy.tree import CPUFREQ, Tree

_POLICY = re.compile(r"policy[0-9]+")
_ANY_KHZ = 1_000_000


class ModelledMeter:
    def __init__(
        self,
        power: PowerModel,
        busy_cores: Callable[[], float],
        frequency_khz: Callable[[], float],
    ) -> None:
        """`busy_cores` gives the mean since it was last called; both may raise `OSError`."""
        self.name: MeterName = "modelled"
        self.source: PowerSource = "modelled"
        self._power = power
        self._busy_cores = busy_cores
        self._frequency_khz = frequency_khz
        self._energy_uj = 0
        self._rejected = 0
        self._last_s: float | None = None

    def poll(self, now_s: float) -> EnergyReading:
        reason = None
        # The same moment again: sampling would throw away the utilisation since the last one.
        if now_s != self._last_s:
            try:
                self._add(now_s)
            except OSError as error:
                reason = f"utilisation or frequency cannot be read: {error}"
        energy_uj = self._energy_uj if reason is None else None
        zone = Zone("host", energy_uj, reason)
        return EnergyReading(now_s, (zone,), energy_uj, self.source, self._rejected)

    def _add(self, now_s: float) -> None:
        # Utilisation is the mean of the time that ends now, so a rectangle is exact in it; the
        # frequency is a sample, as good for this second as for the next.
        power_w = float(self._power.power_w(self._busy_cores(), self._frequency_khz()))
        if self._last_s is not None:
            elapsed_s = now_s - self._last_s
            if elapsed_s < 0:
                self._rejected += 1
            else:
                self._energy_uj += round(power_w * elapsed_s * 1e6)
        self._last_s = now_s


def modelled_meter(tree: Tree, full_power_w: float) -> ModelledMeter:
    """For this machine: utilisation from psutil, frequency from the tree where it has any."""
    cores = psutil.cpu_count()
    if not cores:
        raise MeterUnavailable("the number of CPUs of this host is unknown")
    frequency = MeanFrequency(tree)
    power = prior_power(cores, frequency.highest_khz, full_power_w)
    return ModelledMeter(power, BusyCores(cores), frequency)


class BusyCores:
    """How many cores were busy on average since the last call; 0 at the first."""

    def __init__(self, cores: int, times: Callable[[], tuple[float, float]] | None = None) -> None:
        """`times` gives busy and all seconds of all cores since the boot."""
        self._cores = cores
        self._times = times or _busy_and_all_s
        self._last = self._times()

    def __call__(self) -> float:
        busy_s, all_s = self._times()
        last_busy_s, last_all_s = self._last
        self._last = busy_s, all_s
        if all_s <= last_all_s:
            return 0.0
        share = (busy_s - last_busy_s) / (all_s - last_all_s)
        # Idle time may step back when a CPU goes offline.
        return self._cores * min(1.0, max(0.0, share))


def _busy_and_all_s() -> tuple[float, float]:
    times = psutil.cpu_times()
    # Guest time is part of user time, and stolen time kept another machine busy, not this one.
    busy_s = times.user + times.nice + times.system + times.irq + times.softirq
    return busy_s, busy_s + times.idle + times.iowait + times.steal


class MeanFrequency:
    """Mean over the policies now; the highest where it cannot be read, which errs upwards."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        folders = [f"{CPUFREQ}/{name}" for name in tree.names(CPUFREQ) if _POLICY.fullmatch(name)]
        self._paths = [f"{folder}/scaling_cur_freq" for folder in folders]
        highest = [self._khz(f"{folder}/cpuinfo_max_freq") for folder in folders]
        # Only the ratio to the highest matters to the prior.
        self.highest_khz = max((khz for khz in highest if khz), default=_ANY_KHZ)

    def __call__(self) -> float:
        known = [khz for path in self._paths if (khz := self._khz(path))]
        return sum(known) / len(known) if known else float(self.highest_khz)

    def _khz(self, path: str) -> int | None:
        try:
            text = self._tree.read(path).strip()
        except OSError:
            return None
        return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None

"""A sweep over load and frequency on one host, through its agent.

Load is what the agent saw the busy processes use, not what was started: on a machine with other
work they do not get all they ask for. The lease is given back in the end, and with it the host's
own frequencies; an agent that loses this process restores them by itself.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from energy.calibration import CALIBRATION_POINTS, PowerPoint, points_to_measure
from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.messages import EnergyReport, ExecutorsReport, Hello
from runtime.agent.wire.refusals import Refused
from runtime.calibration.load import APPLICATION

LEASE_PERIOD_MS = 5_000
RENEW_S = 1.0
FREQUENCIES = 5
_TOO_SOON_S = 0.1
_UJ_PER_J = 1e6


class LoadGenerator(Protocol):
    """`BusyExecutors`, or what stands for it."""

    def set_count(self, count: int) -> None: ...


class CannotCalibrate(Exception):
    """Says what the host lacks."""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    settle_s: float = 3.0
    """Left out after each change: executors are found, frequencies and clocks settle."""
    measure_s: float = 12.0
    points: int = CALIBRATION_POINTS
    executors: int | None = None
    """Most busy processes; None: one a CPU."""


@dataclass(frozen=True, slots=True)
class Sweep:
    host: str
    source: str
    """Of the energy: measured, emulated, ..."""
    points: tuple[PowerPoint, ...]


def places(hello: Hello, plan: SweepPlan) -> tuple[tuple[int, int], ...]:
    """(busy processes, kHz) to measure, spread over what the host can do."""
    active = [policy for policy in hello.policies if policy.active]
    if not active:
        raise CannotCalibrate(f"{hello.host} has no CPU frequency that can be set")
    if hello.energy_source is None:
        reason = hello.meter_reason or "no meter"
        raise CannotCalibrate(f"{hello.host} cannot measure energy: {reason}")
    if hello.energy_source == "modelled":
        raise CannotCalibrate(f"{hello.host} only models its energy; there is nothing to learn")
    low_khz = max(policy.hardware_min_khz for policy in active)
    low_khz = max(low_khz, hello.floor_khz or 0)
    high_khz = min(policy.hardware_max_khz for policy in active)
    cpus = sum(len(policy.cpus) for policy in active)
    most = min(plan.executors or cpus, cpus)
    width_khz = high_khz - low_khz
    frequencies = {low_khz + width_khz * i // (FREQUENCIES - 1) for i in range(FREQUENCIES)}
    return points_to_measure(range(most + 1), sorted(frequencies), plan.points)


def swept(
    client: AgentClient,
    load: LoadGenerator,
    plan: SweepPlan,
    on_point: Callable[[PowerPoint], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Sweep:
    """Measure all places. Raises `CannotCalibrate`, `Refused` or `AgentUnreachable`."""
    hello = client.hello()
    wanted = places(hello, plan)
    client.lease(LEASE_PERIOD_MS)
    try:
        points = []
        for executors, khz in wanted:
            load.set_count(executors)
            effective_khz = _set_frequency(client, khz, sleep)
            _wait(client, plan.settle_s, sleep)
            before = client.executors(), client.energy()
            _wait(client, plan.measure_s, sleep)
            after = client.executors(), client.energy()
            point = measured_point(effective_khz, before, after)
            points.append(point)
            on_point(point)
    finally:
        load.set_count(0)
        client.release()
    return Sweep(hello.host, hello.energy_source or "", tuple(points))


def measured_point(
    frequency_khz: int,
    before: tuple[ExecutorsReport, EnergyReport],
    after: tuple[ExecutorsReport, EnergyReport],
) -> PowerPoint:
    """Busy cores and watts between two readings."""
    (used_before, drawn_before), (used_after, drawn_after) = before, after
    if drawn_before.started_ms != drawn_after.started_ms:
        raise CannotCalibrate("the agent restarted during the measurement")
    if drawn_before.total_uj is None or drawn_after.total_uj is None:
        raise CannotCalibrate("the energy counter could not be read")
    elapsed_ms = drawn_after.at_ms - drawn_before.at_ms
    if elapsed_ms <= 0 or used_after.at_ms <= used_before.at_ms:
        raise CannotCalibrate("the agent's clock did not move between two readings")
    power_w = (drawn_after.total_uj - drawn_before.total_uj) / _UJ_PER_J / (elapsed_ms / 1e3)
    if power_w <= 0:
        raise CannotCalibrate("the energy counter did not move; measure for longer")
    used_ms = _used_ms(used_after) - _used_ms(used_before)
    busy = max(used_ms, 0) / (used_after.at_ms - used_before.at_ms)
    return PowerPoint(busy, frequency_khz, power_w)


def _used_ms(report: ExecutorsReport) -> int:
    return sum(
        executor.cpu_ms
        for executor in report.executors
        if executor.application.startswith(APPLICATION)
    )


def _set_frequency(client: AgentClient, khz: int, sleep: Callable[[float], None]) -> int:
    while True:
        try:
            outcomes = client.set_frequency(khz).outcomes
        except Refused as refused:
            if refused.refusal.code != "too_soon":
                raise
            sleep(_TOO_SOON_S)
            continue
        if not outcomes:
            raise CannotCalibrate("somebody else sets the frequencies of this host")
        return round(sum(outcome.effective_khz for outcome in outcomes) / len(outcomes))


def _wait(client: AgentClient, seconds: float, sleep: Callable[[float], None]) -> None:
    left_s = seconds
    while left_s > 0:
        sleep(min(left_s, RENEW_S))
        left_s -= RENEW_S
        client.renew()


def changed(points: Sequence[PowerPoint]) -> bool:
    """Whether the load really differed: a model needs an idle and a busy point."""
    busy = [point.executors for point in points]
    return max(busy) - min(busy) > 0.1

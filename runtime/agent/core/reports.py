"""Turns what the agent knows into what it answers. Reads nothing, changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from energy.cpufreq.policy import Policy
from energy.meters.contract import Meter, Reading
from runtime.agent.core.ledger import Held
from runtime.agent.core.restore import Restored
from runtime.agent.host.executors import Executor
from runtime.agent.service.settings import FrequencyRules
from runtime.agent.wire.messages import (
    EnergyReport,
    ExecutorReport,
    ExecutorsReport,
    Hello,
    PolicyReport,
    PolicyStatus,
    Released,
    ZoneReport,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this agent is; a restart under the same boot id may find originals to restore."""

    version: str
    host: str
    boot_id: str
    emulated: bool


def hello(
    identity: Identity,
    policies: Mapping[str, Policy],
    rules: FrequencyRules,
    meter: Meter | None,
    meter_reason: str | None,
) -> Hello:
    return Hello(
        version=identity.version,
        host=identity.host,
        boot_id=identity.boot_id,
        emulated=identity.emulated,
        policies=tuple(
            PolicyReport(
                name=policy.name,
                cpus=policy.cpus,
                domain_cpus=policy.domain_cpus,
                driver=policy.driver,
                governor=policy.governor,
                hardware_min_khz=policy.hardware_min_khz,
                hardware_max_khz=policy.hardware_max_khz,
                table_khz=policy.table_khz,
                boost=policy.boost,
                active=policy.active,
            )
            for policy in policies.values()
        ),
        floor_khz=rules.floor_khz,
        may_move_minimum=rules.may_move_minimum,
        meter=None if meter is None else meter.name,
        energy_source=None if meter is None else meter.source,
        meter_reason=meter_reason if meter is None else None,
    )


def energy(identity: Identity, started_s: float, reading: Reading) -> EnergyReport:
    return EnergyReport(
        at_ms=round(reading.at_s * 1000),
        boot_id=identity.boot_id,
        started_ms=round(started_s * 1000),
        source=reading.source,
        total_uj=reading.total_uj,
        zones=tuple(ZoneReport(zone.name, zone.energy_uj, zone.reason) for zone in reading.zones),
    )


def executors(now_s: float, found: Sequence[Executor]) -> ExecutorsReport:
    return ExecutorsReport(
        at_ms=round(now_s * 1000),
        executors=tuple(
            ExecutorReport(
                application=executor.application,
                executor_id=executor.executor_id,
                pid=executor.pid,
                cores=executor.cores,
                cpu_ms=round(executor.cpu_s * 1000),
            )
            for executor in found
        ),
    )


def policy_status(policy: Policy, held: Held | None, limit_khz: int | None) -> PolicyStatus:
    """`limit_khz` is the limit of a policy that is not held; None where it cannot be read."""
    if held is None:
        return PolicyStatus(policy.name, policy.active, None, None, limit_khz, False)
    return PolicyStatus(
        name=policy.name,
        active=policy.active,
        original_max_khz=held.entry.original.max_khz,
        requested_khz=None if held.request is None else held.request.max_khz,
        effective_khz=None if held.seen is None else held.seen.max_khz,
        drifted=held.drifted,
    )


def released(outcome: Restored) -> Released:
    return Released(outcome.restored, outcome.left_alone)

"""Table 1 and Fig. 2 of Russo Russo 2018 beside ours.

The text of the paper has the figures of Table 1 only; of Fig. 2 it describes the curves, which end
in Table 1. So the curves are ours, and only their ends have a difference. Violations and
reconfigurations are counts of a year: ours of fewer days are scaled up to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.mdp.runs import DECENTRALISED, MDP, RL, RL_KNOWN, MdpJob, MdpRun, MdpWorkload
from benchmarks.mdp.setting import TARGET_UTILISATIONS, MdpSetting

TABLE_1 = {
    MDP: (0.163, 8903, 13882, 10.95),
    RL_KNOWN: (0.164, 9505, 13684, 10.94),
    RL: (0.167, 15681, 14579, 10.79),
    f"{DECENTRALISED}0.6": (0.178, 3639, 30104, 11.46),
    f"{DECENTRALISED}0.7": (0.173, 17111, 30404, 10.30),
    f"{DECENTRALISED}0.8": (0.205, 79670, 29681, 9.15),
}
"""Average cost, SLA violations, reconfigurations, average instances; 3 operators, one year."""

OPERATORS = 3
CURVE_DAYS = (1, 7, 30, 90, 180, 365)
FIGURE_2B_TARGET = 0.7
"""The paper does not say which target its Fig. 2b takes; this is the cheapest of its Table 1."""


@dataclass(frozen=True, slots=True)
class MdpTableRow:
    policy: str
    cost: float
    paper_cost: float
    cost_difference: float
    violations: int
    paper_violations: int
    violations_difference: int
    reconfigurations: int
    paper_reconfigurations: int
    reconfigurations_difference: int
    instances: float
    paper_instances: float
    instances_difference: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class CurveRow:
    """Fig. 2a: mean cost from the start to the end of a day."""

    policy: str
    day: int
    cost: float
    above_mdp: float
    paper_cost: float | None
    """Known for the whole year alone."""
    difference: float | None


@dataclass(frozen=True, slots=True)
class OperatorsRow:
    """Fig. 2b: mean cost of the whole time by the number of operators."""

    operators: int
    mdp_cost: float
    decentralised_cost: float
    gap: float
    paper_mdp_cost: float | None
    paper_decentralised_cost: float | None


def jobs(workload: MdpWorkload, threshold_s: float | None, most_operators: int) -> list[MdpJob]:
    """Everything that Table 1 and Fig. 2 need, the slowest first."""
    setting = MdpSetting(OPERATORS, threshold_s)
    names = [RL, RL_KNOWN, MDP, *(f"{DECENTRALISED}{target}" for target in TARGET_UTILISATIONS)]
    needed = [MdpJob(workload, setting, name) for name in names]
    for operators in range(1, most_operators + 1):
        if operators != OPERATORS:
            other = MdpSetting(operators, threshold_s)
            needed += [
                MdpJob(workload, other, name)
                for name in (MDP, f"{DECENTRALISED}{FIGURE_2B_TARGET}")
            ]
    return needed


def table_1(runs: Sequence[MdpRun]) -> list[MdpTableRow]:
    found = _by_name(runs, OPERATORS)
    rows = []
    for policy, published in TABLE_1.items():
        run = found[policy]
        year = 365 / run.job.workload.days
        figures: dict[str, Any] = {
            "cost": run.outcome.cost,
            "violations": round(run.outcome.violations * year),
            "reconfigurations": round(run.outcome.reconfigurations * year),
            "instances": run.outcome.instances,
        }
        for (name, value), paper in zip(tuple(figures.items()), published, strict=True):
            figures |= {f"paper_{name}": paper, f"{name}_difference": value - paper}
        rows.append(
            MdpTableRow(policy=policy, cpu_s=run.built_cpu_s + run.outcome.cpu_s, **figures)
        )
    return rows


def figure_2a(runs: Sequence[MdpRun]) -> list[CurveRow]:
    found = _by_name(runs, OPERATORS)
    rows = []
    for policy, published in TABLE_1.items():
        outcome, days = found[policy].outcome, found[policy].job.workload.days
        for day in CURVE_DAYS:
            if day > days:
                continue
            cost = outcome.cost_until(day)
            paper = published[0] if day == 365 else None
            rows.append(
                CurveRow(
                    policy,
                    day,
                    cost,
                    cost - found[MDP].outcome.cost_until(day),
                    paper,
                    None if paper is None else cost - paper,
                )
            )
    return rows


def figure_2b(runs: Sequence[MdpRun]) -> list[OperatorsRow]:
    rows = []
    agents = f"{DECENTRALISED}{FIGURE_2B_TARGET}"
    for operators in sorted({run.job.setting.operators for run in runs}):
        found = _by_name(runs, operators)
        mdp, decentralised = found[MDP].outcome.cost, found[agents].outcome.cost
        paper = operators == OPERATORS
        rows.append(
            OperatorsRow(
                operators,
                mdp,
                decentralised,
                decentralised - mdp,
                TABLE_1[MDP][0] if paper else None,
                TABLE_1[agents][0] if paper else None,
            )
        )
    return rows


def _by_name(runs: Sequence[MdpRun], operators: int) -> dict[str, MdpRun]:
    return {run.job.controller: run for run in runs if run.job.setting.operators == operators}

"""What `foresight tune` prints and writes: the front, the recommendation and what it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from runtime.tuning.jobs import Task
from runtime.tuning.knobs import Knobs
from runtime.tuning.outcome import STRAINED, TuningOutcome
from runtime.tuning.search import Candidate
from runtime.tuning.tune import Tuning, tuned_toml


@dataclass(frozen=True, slots=True)
class TuneRow:
    """One configuration. Names are part of the JSON contract."""

    part: str
    """tuning: the blocks of the search. held back: cross-validated. check: the unseen half."""
    role: str
    alpha: float
    beta: float
    gamma: float
    horizon_steps: int
    step_s: float
    max_removed_per_step: int | None
    min_dwell_steps: int
    violation_fraction: float
    close_fraction: float
    mean_power_w: float
    energy_j: float
    reconfigurations_per_h: float


def tune_rows(tuning: Tuning, unseen: Sequence[TuningOutcome]) -> list[TuneRow]:
    """The present configuration, the recommended one and the rest of the front; then the check."""
    recommended = tuning.choice.recommended
    named: dict[Knobs, tuple[str, Candidate]] = {tuning.present.knobs: ("present", tuning.present)}
    if recommended is not None:
        named[recommended.knobs] = ("recommended", recommended)
    for candidate in tuning.choice.front:
        named.setdefault(candidate.knobs, ("front", candidate))
    rows = [
        _row("tuning", role, candidate.knobs, candidate.total) for role, candidate in named.values()
    ]
    if unseen and recommended is not None:
        now, then = unseen
        rows.append(_row("check", "present", tuning.present.knobs, now))
        rows.append(_row("check", "recommended", recommended.knobs, then))
    return rows


def _row(part: str, role: str, knobs: Knobs, outcome: TuningOutcome) -> TuneRow:
    return TuneRow(
        part=part,
        role=role,
        **asdict(knobs),
        violation_fraction=outcome.violation_share,
        close_fraction=outcome.strained_share,
        mean_power_w=outcome.mean_power_w,
        energy_j=outcome.energy_j,
        reconfigurations_per_h=outcome.reconfigurations_per_h,
    )


def tune_table(rows: Sequence[TuneRow], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("part", "configuration", "alpha/beta/gamma, horizon, limits"):
        table.add_column(heading)
    for heading in ("violations", f"> {STRAINED:.0%} of target", "power W", "reconfig./h"):
        table.add_column(heading, justify="right")
    for row in rows:
        knobs = Knobs(
            row.alpha,
            row.beta,
            row.gamma,
            row.horizon_steps,
            row.step_s,
            row.max_removed_per_step,
            row.min_dwell_steps,
        )
        table.add_row(
            row.part,
            row.role,
            knobs.words,
            f"{row.violation_fraction:.3%}",
            f"{row.close_fraction:.2%}",
            f"{row.mean_power_w:.2f}",
            f"{row.reconfigurations_per_h:.1f}",
        )
    return table


def recommendation(tuning: Tuning) -> Iterator[str]:
    """The recommendation in words."""
    held = tuning.choice.held_back
    yield f"held-back folds: {_against(held.chosen, held.present)}"
    recommended = tuning.choice.recommended
    if recommended is None:
        yield "keep the present configuration: none that was tried is better in every fold"
    else:
        yield f"recommended: {recommended.knobs.words}"


def verdict(present: TuningOutcome, recommended: TuningOutcome) -> str:
    """On the unseen half."""
    better = (
        recommended.violations <= present.violations
        and recommended.energy_j <= present.energy_j
        and (recommended.violations, recommended.energy_j) != (present.violations, present.energy_j)
    )
    words = "better" if better else "NOT better in both"
    return f"unseen half: {_against(recommended, present)}: {words}"


def _against(chosen: TuningOutcome, present: TuningOutcome) -> str:
    energy = chosen.mean_power_w / present.mean_power_w - 1.0
    return (
        f"violations {chosen.violations} of {chosen.windows} windows (present "
        f"{present.violations}), energy {energy:+.2%}"
    )


def tuned_file(task: Task, tuning: Tuning, recommended: Candidate) -> str:
    """The TOML text of the recommendation."""
    held = tuning.choice.held_back
    head = (
        "Tuned by `foresight tune` in simulation; every other option has its default.",
        f"trace: {task.trace.source}, seed {task.seed}",
        f"in the folds held back: {_against(held.chosen, held.present)}",
    )
    return tuned_toml(recommended.knobs.applied_to(task.config), head)

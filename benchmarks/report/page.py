"""One self-contained HTML page with everything a comparison found: no network, no date, so the
same comparison gives the same bytes."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.mpc_paper.published import compare
from benchmarks.report.findings import (
    curve_distance,
    curve_verdict,
    distance_to_bound,
    rivalries,
    summary,
)
from benchmarks.report.tables import published_table, rivalry_table, saso_table
from benchmarks.report.timeline import drawn_policies, timeline
from benchmarks.report.tradeoff import tradeoff
from benchmarks.results import Comparison
from benchmarks.statistics import PolicyRuns, by_policy
from runtime.report.charts import Drawing
from runtime.report.document import document, place_of_charts, place_of_scatter
from runtime.report.markup import Markup, element
from runtime.report.text import plural, seconds


def write_report(comparison: Comparison, path: Path) -> None:
    path.write_text(render_report(comparison), encoding="utf-8")


def render_report(comparison: Comparison) -> str:
    policies = by_policy(comparison.runs)
    drawn = drawn_policies(policies)
    steps, scatter = timeline(comparison, drawn), tradeoff(comparison)
    made = comparison.provenance.sentence
    body = [
        _header(comparison, policies),
        _saso(comparison, policies),
        *([] if scatter is None else [_tradeoff(comparison)]),
        *([_timeline(comparison, drawn)] if drawn else []),
        _published(comparison),
        element("footer", element("p", f"{made} Written by foresight bench.", class_="aside")),
    ]
    return document(
        f"{comparison.scenario}, {comparison.provenance.figures}: comparison of policies",
        body,
        Drawing(charts=steps.charts, lines=steps.lines, span=(0.0, steps.span_s), scatter=scatter),
    )


def _header(comparison: Comparison, policies: dict[str, PolicyRuns]) -> Markup:
    repetitions = max((len(policy.rows) for policy in policies.values()), default=0)
    steps = next((policy.steps for policy in policies.values()), 0)
    facts = {
        "Workload": comparison.source,
        "Threshold": f"{seconds(comparison.threshold_s, 4)} mean latency in a step",
        "Run": f"{plural(steps, 'step')} of {seconds(comparison.step_s)}",
        "Repetitions": plural(repetitions, "seed"),
    }
    terms = [
        part
        for name, value in facts.items()
        for part in (element("dt", name), element("dd", value))
    ]
    return element(
        "header",
        element("p", comparison.provenance.sentence, class_="badge"),
        element("h1", f"Policies compared: {comparison.scenario}"),
        element("p", summary(comparison), class_="summary"),
        element("dl", *terms),
    )


def _saso(comparison: Comparison, policies: dict[str, PolicyRuns]) -> Markup:
    repeated = any(len(policy.rows) > 1 for policy in policies.values())
    how = (
        "Mean over the seeds ± its 95 % confidence interval (Student's t)."
        if repeated
        else "One seed, so without a confidence interval."
    )
    return element(
        "section",
        element("h2", "SASO properties"),
        element(
            "p",
            f"{how} A violation is a step whose mean latency is above the threshold; amplitude is "
            f"the mean size of a reconfiguration in executors and steps of 0.1 GHz; latencies are "
            f"those of single results. {comparison.provenance.sentence} Decision time is what this "
            f"computer took to decide.",
            class_="aside",
        ),
        saso_table(list(policies.values()), comparison.threshold_s),
    )


def _tradeoff(comparison: Comparison) -> Markup:
    parts: list[str] = [element("h2", "Violations against power")]
    bound = f"{distance_to_bound(comparison)} {curve_distance(comparison)}".strip()
    if bound:
        parts.append(element("p", bound))
    how = (
        "Down and left is better. Each point is a policy, the mean over its seeds; violations are "
        f"{comparison.provenance.figures}, power is {comparison.provenance.power}."
    )
    if comparison.curve:
        how += " The line is foresight over its knob alpha."
    if comparison.limit:
        how += (
            " The dashed line is the clairvoyant bound, the least power for so many violations "
            "when every arrival is known in advance; nobody can be in the shaded area."
        )
    parts.append(element("p", how, class_="aside"))
    parts.append(place_of_scatter())
    others = rivalries(comparison)
    if comparison.curve and others:
        parts.append(element("p", curve_verdict(comparison)))
        parts.append(rivalry_table(others))
    return element("section", *parts)


def _timeline(comparison: Comparison, drawn: Sequence[PolicyRuns]) -> Markup:
    return element(
        "section",
        element("h2", "Step by step"),
        element(
            "p",
            f"The run with seed {drawn[0].rows[0].seed}, {comparison.provenance.figures}.",
            class_="aside",
        ),
        place_of_charts(),
    )


def _published(comparison: Comparison) -> Markup:
    figures = compare(comparison)
    title = element("h2", "Published figures beside ours")
    if not figures:
        words = "The paper publishes no figure for this scenario, step, threshold and policies."
        return element("section", title, element("p", words, class_="aside"))
    promised = [figure for figure in figures if figure.tolerance is not None]
    within = sum(bool(figure.within) for figure in promised)
    words = (
        "The paper (De Matteis and Mencagli, PPoPP 2016) measured a real machine; ours are "
        f"{comparison.provenance.figures}, the mean over all seeds."
    )
    if promised:
        words += f" {within} of {plural(len(promised), 'figure')} with a tolerance are within it."
    return element("section", title, element("p", words), published_table(figures))

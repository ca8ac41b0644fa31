"""A diagnosis in words for a person, and as a document for programs."""

import textwrap
from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter

import msgspec

from runtime.doctor.examine import Diagnosis, Kind
from runtime.doctor.findings import Finding, Level
from runtime.report.text import plural

FORMAT = "foresight-doctor/1"

_SUBJECTS: dict[Kind, str] = {
    "host": "this host",
    "folder": "the tree below {place}",
    "capture": "the capture {place}",
}
_LEVEL_WIDTH = 9

Style = Callable[[str, Level], str]
"""Marks a word by its level, as with colour."""


def _plain(word: str, _level: Level) -> str:
    return word


def report(diagnosis: Diagnosis, width: int = 100, style: Style = _plain) -> str:
    """Findings by area, each with its level and remedy, and a summary as the last line."""
    subject = _SUBJECTS[diagnosis.kind].format(place=diagnosis.place)
    lines = [f"foresight doctor: {subject}"]
    for area, findings in groupby(diagnosis.findings, key=attrgetter("area")):
        lines += ["", area]
        for finding in findings:
            lines += _lines(finding, width, style)
    level: Level = "ok" if diagnosis.usable else "problem"
    return "\n".join([*lines, "", style(summary(diagnosis), level)]) + "\n"


def summary(diagnosis: Diagnosis) -> str:
    """One line: whether frequencies can be capped, where energy comes from, what there is to do."""
    problems = [finding for finding in diagnosis.findings if finding.level == "problem"]
    warnings = [finding for finding in diagnosis.findings if finding.level == "warning"]
    capping = "frequencies can be capped"
    if not diagnosis.policies.states or any(each.area == "frequency" for each in problems):
        capping = "frequencies cannot be capped"
    readable = [counter for counter in diagnosis.counters if counter.reason is None]
    if any(counter.in_total for counter in readable):
        metering = "energy is measured"
    else:
        metering = "energy is modelled" if diagnosis.kind != "capture" else "energy is unknown"
    counts = f"{plural(len(problems), 'problem')}, {plural(len(warnings), 'warning')}"
    return f"{'usable' if diagnosis.usable else 'not usable'}: {capping}, {metering}; {counts}"


def document(diagnosis: Diagnosis) -> str:
    """JSON; fields are only ever added within one format."""
    content = {
        "format": FORMAT,
        "kind": diagnosis.kind,
        "place": diagnosis.place,
        "usable": diagnosis.usable,
        "summary": summary(diagnosis),
        "findings": diagnosis.findings,
        "policies": [
            {
                **asdict(state.policy),
                "limits": state.limits,
                "throttled": state.throttled,
            }
            for state in diagnosis.policies.states
        ],
        "broken_policies": diagnosis.policies.broken,
        "counters": diagnosis.counters,
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _lines(finding: Finding, width: int, style: Style) -> list[str]:
    indent = " " * (2 + _LEVEL_WIDTH)
    room = max(40, width - len(indent))
    lines = textwrap.wrap(finding.message, room, break_long_words=False, break_on_hyphens=False)
    if finding.fix is not None:
        lines += textwrap.wrap(
            f"fix: {finding.fix}",
            room,
            subsequent_indent="     ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    mark = style(finding.level, finding.level) + " " * (_LEVEL_WIDTH - len(finding.level))
    return [f"  {mark}{lines[0]}", *(indent + line for line in lines[1:])]

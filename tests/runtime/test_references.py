"""Papers are cited by author and year, and docs/references.md has every one that is cited."""

import re
from pathlib import Path

import pytest

from tests.support.documents import ROOT

REFERENCES = ROOT / "docs" / "references.md"
FOLDERS = ("benchmarks", "docs", "energy", "examples", "forecasting", "mpc", "runtime", "tests")
FILES = sorted(
    path
    for path in [
        *(ROOT.glob("*.md")),
        *(ROOT.glob("*.toml")),
        ROOT / "Makefile",
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")),
    ]
    if path.is_file()
    and (path.suffix in {".py", ".md", ".toml", ".js"} or path.name == "Makefile")
    and path not in {REFERENCES, Path(__file__)}
)

NAME = r"(?:De |van |Russo |Azimi )?[A-Z][A-Za-zé]+"
TOGETHER = rf"{NAME}(?: and {NAME}| et al\.)"
ALONE = "Russo Russo|Azimi Gehraz|Kingman|van Herk|Graham"
CITATION = re.compile(rf"\b((?:{TOGETHER}|{ALONE}) (?:19|20)\d\d)\b")
FOREIGN = re.compile(r"\b[Ss]eed 00\d|\bDESIGN\b")


def entries() -> list[str]:
    return re.findall(r"\*\*([^*]+)\.\*\*", joined(REFERENCES))


def joined(path: Path) -> str:
    """The text on one line, without what begins a line of a comment."""
    return re.sub(r"\s+(?:#\s+)?", " ", path.read_text(encoding="utf-8"))


def test_every_citation_has_an_entry_and_every_entry_is_cited() -> None:
    cited = {found for path in FILES for found in CITATION.findall(joined(path))}
    assert cited == set(entries())


def test_no_source_stands_twice() -> None:
    assert len(entries()) == len(set(entries())) > 15


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as Azimi Gehraz 2018, section 6", ["Azimi Gehraz 2018"]),
        (
            "(Kingman 1961; De Matteis and Mencagli 2016)",
            ["Kingman 1961", "De Matteis and Mencagli 2016"],
        ),
        ("in July 2014 and of Shah et al. 2003", ["Shah et al. 2003"]),
    ],
)
def test_citations_are_found(text: str, found: list[str]) -> None:
    assert CITATION.findall(text) == found


def test_nothing_is_cited_by_a_number() -> None:
    found = {path: FOREIGN.findall(path.read_text(encoding="utf-8")) for path in FILES}
    assert {path: words for path, words in found.items() if words} == {}

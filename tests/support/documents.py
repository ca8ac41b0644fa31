"""What README, docs and examples show in code: the pages, their blocks, and the command lines."""

import re
from collections.abc import Iterator
from pathlib import Path

from runtime import documents

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
GENERATED = {path.name for path in documents.GENERATED}
WRITTEN = [page for page in PAGES if page.name not in GENERATED]

_SHELLS = {"", "sh", "bash", "console"}
_PROGRAM = re.compile(
    r"(?:_?[A-Z_]+=\S+ )?"
    r"(?:foresight|make|python|pytest|pip|sudo|systemctl|systemd-analyze|kubectl|openssl|git|cd"
    r"|\.|spark-submit|scripts/[\w.]+|/\S+/bin/\w+)(?= |$)"
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[str]:
    """Fenced blocks without a language or of a shell, and indented ones."""
    text, fenced = _split(page)
    yield from fenced
    yield from re.findall(r"^(?: {4}\S.*\n)+", text, re.MULTILINE)


def inline(page: Path) -> Iterator[str]:
    """What stands between single backticks, each on one line."""
    text, _ = _split(page)
    for found in re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", text):
        yield " ".join(found.split())


def command_lines(page: Path) -> Iterator[str]:
    """Every command line, without its comment and with single blanks.

    In a sentence a single word is the name of a program or a file, not a command line.
    """
    for block in blocks(page):
        yield from (line for line in _lines(block) if _PROGRAM.match(line))
    for line in inline(page):
        if _PROGRAM.match(line) and " " in line:
            yield line
    yield from re.findall(r"^#+ (foresight [a-z]+ [A-Z].*)$", _split(page)[0], re.MULTILINE)


def foreign_lines(page: Path) -> Iterator[str]:
    """Lines of a block of commands whose program is not known here."""
    for block in blocks(page):
        lines = _lines(block)
        if lines and _PROGRAM.match(lines[0]):
            yield from (line for line in lines if not _PROGRAM.match(line))


def _lines(block: str) -> list[str]:
    joined = block.replace("\\\n", " ").splitlines()
    lines = (" ".join(re.sub(r"(^|\s)#\s.*", "", line).split()) for line in joined)
    return [line.removeprefix("$ ") for line in lines if line]


def _split(page: Path) -> tuple[str, list[str]]:
    """The text without fenced blocks, and those of a shell."""
    text = page.read_text(encoding="utf-8")
    fence = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    fenced = [block for language, block in fence.findall(text) if language in _SHELLS]
    return fence.sub("", text), fenced

"""What commands print: result tables, result files and progress.

Results go to standard output, everything else to standard error. With `--json -` standard output
carries the JSON document alone, so tables move to standard error as well.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from runtime.cli.documents import write_document
from runtime.cli.parameters import STANDARD_OUTPUT
from runtime.report.text import number

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Without a terminal rich assumes 80 columns and would cut the cells of a wide table.
_WIDTH_WITHOUT_TERMINAL = 240


@dataclass(frozen=True, slots=True)
class Results:
    """The rows of one benchmark; `rows` are dataclasses of one kind."""

    scenario: str
    backend: str
    """Where the figures come from: "simulation", "measured", "replay"."""
    rows: Sequence["DataclassInstance"]


def show(results: Results, json_file: str | None) -> None:
    """Print the rows as a table and write them to the JSON file, if one was asked for."""
    results_console(json_file).print(table(results))
    if json_file is not None:
        write_json(results, json_file)


def results_console(json_file: str | None) -> Console:
    """Where people read results: standard output, unless the JSON document goes there."""
    console = Console(stderr=json_file == STANDARD_OUTPUT, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDTH_WITHOUT_TERMINAL)
    return console


def table(results: Results) -> Table:
    grid = Table(title=f"{results.scenario} ({results.backend})", title_justify="left")
    names = [field.name for field in fields(results.rows[0])] if results.rows else []
    for name in names:
        numeric = all(isinstance(getattr(row, name), int | float) for row in results.rows)
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in results.rows:
        grid.add_row(*(cell(getattr(row, name)) for name in names))
    return grid


def cell(value: object) -> str:
    """A value for people: four significant digits, thousands apart, missing as a dash."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if value is None or isinstance(value, float):
        return number(value, 4)
    return str(value)


def write_json(results: Results, json_file: str) -> None:
    """`{"scenario", "backend", "rows"}`; a figure that is not finite becomes null."""
    document = {
        "scenario": results.scenario,
        "backend": results.backend,
        "rows": list(results.rows),
    }
    write_document(document, json_file)


@contextmanager
def activity(description: str) -> Iterator[Callable[[str], None]]:
    """Shows on standard error what is being worked on; call the result as each piece begins."""
    with _display(SpinnerColumn(), TimeElapsedColumn()) as display:
        task = display.add_task(description, total=None)

        def begin(work: str) -> None:
            display.update(task, description=f"{description}: {work}")

        yield begin


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error; call the result as each of `total` pieces of work is finished."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with _display(*columns) as display:
        task = display.add_task(description, total=total)

        def finish() -> None:
            display.advance(task)

        yield finish


def _display(*columns: ProgressColumn) -> Progress:
    """Progress that leaves no trace, and shows nothing at all without a terminal."""
    console = Console(stderr=True)
    text = TextColumn("{task.description}", markup=False)
    return Progress(
        *columns, text, console=console, transient=True, disable=not console.is_terminal
    )

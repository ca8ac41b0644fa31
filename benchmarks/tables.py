"""The table that a comparison prints: means over the repetitions of each policy."""

from collections.abc import Sequence
from statistics import fmean

from rich.table import Table

from benchmarks.peers.comparison import PeerRow
from benchmarks.results import Row

Column = tuple[str, str, str, float]
"""Heading, name of the figure, format, and the factor that the heading's unit needs."""


def means_table(title: str, rows: Sequence[Row | PeerRow], columns: Sequence[Column]) -> Table:
    """For people; single runs are in the JSON."""
    table = Table(title=title, title_justify="left")
    table.add_column("policy")
    for heading, *_ in columns:
        table.add_column(heading, justify="right")
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        cells = (
            form.format(factor * fmean(getattr(row, name) for row in own))
            for _, name, form, factor in columns
        )
        table.add_row(policy, *cells)
    return table

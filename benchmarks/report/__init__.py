"""The HTML report of a comparison, and its most telling picture as a standalone SVG."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.report.page import write_report
from benchmarks.results import Comparison

__all__ = ["NoPicture", "check_picture", "write_report", "write_svg"]


class NoPicture(ValueError):
    """The picture cannot be drawn here."""


def check_picture() -> None:
    """Before the runs that it would show; raises `NoPicture`."""
    if find_spec("matplotlib") is None:
        raise NoPicture("--picture needs matplotlib: pip install 'foresight-autoscaler[dev]'")


def write_svg(comparison: Comparison, path: Path) -> None:
    check_picture()
    # Only development has matplotlib.
    picture = import_module("benchmarks.report.picture")
    path.write_text(picture.render_svg(comparison), encoding="utf-8")

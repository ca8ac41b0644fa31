"""The HTML report of a comparison, and its most telling picture as a standalone SVG."""

from benchmarks.report.page import write_report
from benchmarks.report.picture import write_svg

__all__ = ["write_report", "write_svg"]

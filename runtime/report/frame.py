"""The frame of a chart: its size, its plot area, its grid and its axes."""

from dataclasses import dataclass

from runtime.report.markup import Markup, element, join
from runtime.report.scales import Scale, tick_text


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing and the margins around its plot area, in pixels."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    @property
    def x_end(self) -> float:
        return self.width - self.right

    @property
    def y_end(self) -> float:
        return self.height - self.bottom

    @property
    def plot_width(self) -> float:
        return self.x_end - self.left

    @property
    def is_narrow(self) -> bool:
        """Has room for few ticks only."""
        return self.plot_width < 450

    @property
    def has_room_for_names(self) -> bool:
        """At the right of the plot area."""
        return self.right >= 90


def drawing(frame: Frame, label: str, *children: str, **attributes: str | None) -> Markup:
    """A scalable drawing with a description for those who cannot see it."""
    return element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {frame.width:g} {frame.height:g}",
        role="img",
        aria_label=label,
        **attributes,
    )


def y_axis(frame: Frame, scale: Scale) -> Markup:
    """Grid lines with their values on the left."""
    parts: list[str] = []
    for tick in scale.ticks:
        y = scale(tick)
        parts.append(element("line", class_="grid", x1=frame.left, x2=frame.x_end, y1=y, y2=y))
        parts.append(text(frame.left - 7, y + 4, tick_text(tick, scale), "end"))
    return join(parts)


def x_axis(frame: Frame, scale: Scale, title: str = "", grid: bool = False) -> Markup:
    """The axis line at the bottom with its values, and what they are."""
    y = frame.y_end
    parts: list[str] = [
        element("line", class_="axis", x1=frame.left, x2=frame.x_end, y1=y, y2=y),
    ]
    for tick in scale.ticks:
        x = scale(tick)
        if grid:
            parts.append(element("line", class_="grid", x1=x, x2=x, y1=frame.top, y2=y))
        parts.append(element("line", class_="axis", x1=x, x2=x, y1=y, y2=y + 4))
        parts.append(text(x, y + 17, tick_text(tick, scale), "middle"))
    if title:
        parts.append(text((frame.left + frame.x_end) / 2, y + 36, title, "middle"))
    return join(parts)


def text(x: float, y: float, words: str, classes: str = "") -> Markup:
    return element("text", words, x=x, y=y, class_=classes or None)


def text_width(words: str) -> float:
    """A cautious estimate for bold text of 12 pixels: no font is at hand to measure with."""
    return len(words) * 7.5

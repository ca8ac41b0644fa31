"""The chart of violations against power: foresight as a curve, the others as points, the bound."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.report.findings import BOUND, OWN, bound_power_w
from benchmarks.report.statistics import PolicyRuns, by_policy
from benchmarks.results import Comparison, CurvePoint
from runtime.report import scales
from runtime.report.frame import Frame, drawing, text, text_width, x_axis, y_axis
from runtime.report.markup import Markup, element, join
from runtime.report.placement import Anchor, Box, nearest_edge, path_boxes, place_labels
from runtime.report.scales import Scale
from runtime.report.style import family_colour
from runtime.report.text import count, fixed

Pixel = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Name:
    """A name to put beside a point, or along the curve."""

    words: str
    classes: str
    at: Pixel
    colour: str


def tradeoff_svg(comparison: Comparison, frame: Frame) -> Markup | None:
    """None when there is not a single point to draw."""
    return (
        None
        if (body := tradeoff_body(comparison, frame)) is None
        else drawing(frame, _description(comparison), body, class_="tradeoff")
    )


def tradeoff_body(comparison: Comparison, frame: Frame) -> Markup | None:
    policies = [
        policy
        for policy in by_policy(comparison.runs).values()
        if math.isfinite(policy.violations) and math.isfinite(policy.mean_power_w)
    ]
    curve = sorted(
        (
            point
            for point in comparison.curve
            if math.isfinite(point.violations) and math.isfinite(point.mean_power_w)
        ),
        key=lambda point: point.alpha,
    )
    if not policies and not curve:
        return None
    x, y = _scales(comparison, policies, curve, frame)
    steps = policies[0].steps if policies else None
    bound = _bound_pixels(comparison, x, y)
    line = [(x(point.mean_power_w), y(point.violations)) for point in curve]
    dots = [(x(policy.mean_power_w), y(policy.violations)) for policy in policies]
    names = _policy_names(policies, dots)
    if bound:
        names.append(_Name("bound", "small", bound[len(bound) // 2], "quiet"))
    names += _alpha_names(curve, line, frame)
    square_root = ", square-root scale" if y.kind == "sqrt" else ""
    of_steps = f" of {steps:,} steps" if steps else ""
    return join(
        [
            x_axis(frame, x, f"mean power (W), {comparison.provenance.power}", grid=True),
            y_axis(frame, y),
            text(frame.left, frame.top - 12, f"violations{of_steps}{square_root}"),
            _bound(bound, frame),
            _curve(curve, line),
            *(_dot(policy, at) for policy, at in zip(policies, dots, strict=True)),
            _names(names, [*path_boxes(line), *path_boxes(bound)], frame),
        ]
    )


def _description(comparison: Comparison) -> str:
    names = ", ".join(by_policy(comparison.runs))
    return f"violations against mean power, {comparison.provenance.figures}: {names}"


def _scales(
    comparison: Comparison,
    policies: Sequence[PolicyRuns],
    curve: Sequence[CurvePoint],
    frame: Frame,
) -> tuple[Scale, Scale]:
    violations = [
        *(policy.violations for policy in policies),
        *(point.violations for point in curve),
    ]
    power_w = [
        *(policy.mean_power_w for policy in policies),
        *(point.mean_power_w for point in curve),
    ]
    # The bound goes on to where nobody is; it is drawn as far left as the least violations lead.
    least_w = bound_power_w(comparison.limit, min(violations))
    if least_w is not None:
        power_w.append(least_w)
    low_w, high_w = min(power_w), max(power_w)
    margin_w = 0.06 * (high_w - low_w) or 1.0
    ticks = 5 if frame.is_narrow else 10
    x = scales.exact(low_w - margin_w, high_w + margin_w, frame.left, frame.x_end, ticks)
    y = scales.counts(max(violations) * 1.1, frame.y_end, frame.top, 6)
    return x, y


def _bound_pixels(comparison: Comparison, x: Scale, y: Scale) -> list[Pixel]:
    """The bound inside the axes, from many violations to few, cut where it leaves them."""
    known = sorted(
        (
            (float(point.violations), point.mean_power_w)
            for point in comparison.limit
            if math.isfinite(point.mean_power_w)
        ),
        reverse=True,
    )
    inside = [pair for pair in known if pair[0] <= y.high and x.low <= pair[1] <= x.high]
    if not inside:
        return []
    before = [pair for pair in known if pair[0] > inside[0][0]]
    if before:
        inside.insert(0, _cut(before[-1], inside[0], x, y))
    if known[-1][0] > 0:
        # Some violations are unavoidable: nobody gets below them, at any power.
        inside.append((known[-1][0], x.high))
    return [(x(power_w), y(violations)) for violations, power_w in inside]


def _cut(
    outer: tuple[float, float], inner: tuple[float, float], x: Scale, y: Scale
) -> tuple[float, float]:
    """Where the line from the inner to the outer point leaves the axes."""
    shares = [1.0]
    if outer[0] > y.high:
        shares.append((y.high - inner[0]) / (outer[0] - inner[0]))
    if outer[1] < x.low:
        shares.append((inner[1] - x.low) / (inner[1] - outer[1]))
    share = min(shares)
    return (
        inner[0] + share * (outer[0] - inner[0]),
        inner[1] + share * (outer[1] - inner[1]),
    )


def _bound(points: Sequence[Pixel], frame: Frame) -> Markup:
    if not points:
        return Markup("")
    first_x, first_y = points[0]
    edge = f"M{_d(points)}"
    corner = f"V{frame.y_end:.1f}H{frame.left:.1f}V{first_y:.1f}H{first_x:.1f}Z"
    return join(
        [
            element("path", d=f"{edge}{corner}", class_="beyond"),
            element("path", d=edge, class_="limit"),
        ]
    )


def _curve(curve: Sequence[CurvePoint], line: Sequence[Pixel]) -> Markup:
    if not line:
        return Markup("")
    own = family_colour(OWN)
    dots = [
        element(
            "circle",
            element(
                "title",
                f"foresight, alpha {point.alpha:g}: {count(point.violations)} violations, "
                f"{fixed(point.mean_power_w, 2)} W, "
                f"{count(point.reconfigurations)} reconfigurations",
            ),
            cx=at_x,
            cy=at_y,
            r=3,
            class_=f"dot {own}",
        )
        for point, (at_x, at_y) in zip(curve, line, strict=True)
    ]
    return join([element("path", d=f"M{_d(line)}", class_=f"line strong {own}"), *dots])


def _dot(policy: PolicyRuns, at: Pixel) -> Markup:
    return element(
        "circle",
        element(
            "title",
            f"{policy.policy}: {count(policy.violations)} violations, "
            f"{fixed(policy.mean_power_w, 2)} W, "
            f"{count(policy.reconfigurations)} reconfigurations",
        ),
        cx=at[0],
        cy=at[1],
        r=6.5 if policy.policy == OWN else 5,
        class_=f"dot {family_colour(policy.policy)}",
    )


def _policy_names(policies: Sequence[PolicyRuns], dots: Sequence[Pixel]) -> list[_Name]:
    """Those of foresight and the oracle first: they get the best places."""
    names = [
        _Name(policy.policy, f"name {colour}", at, colour)
        for policy, at in zip(policies, dots, strict=True)
        for colour in (family_colour(policy.policy),)
    ]
    return sorted(names, key=lambda name: name.words not in {OWN, BOUND})


def _alpha_names(
    curve: Sequence[CurvePoint], line: Sequence[Pixel], frame: Frame
) -> Iterable[_Name]:
    """The knob's value at its ends and, where there is room, about every 60 pixels between."""
    last: Pixel | None = None
    for index, (point, at) in enumerate(zip(curve, line, strict=True)):
        is_end = index in {0, len(curve) - 1}
        far = last is None or math.dist(at, last) > (90 if frame.is_narrow else 60)
        if is_end or far:
            last = at
            yield _Name(f"alpha {point.alpha:g}", "small", at, "quiet")


def _names(names: Sequence[_Name], obstacles: Sequence[Box], frame: Frame) -> Markup:
    area = Box(frame.left + 2, frame.top - 8, frame.width - 2, frame.y_end - 2)
    anchors = [Anchor(*name.at, text_width(name.words) + 2, 14.0) for name in names]
    parts: list[str] = []
    for name, place in zip(names, place_labels(anchors, obstacles, area), strict=True):
        box = place.box
        if place.needs_leader:
            end_x, end_y = nearest_edge(box, *name.at)
            parts.append(
                element(
                    "line",
                    class_=f"leader {name.colour}",
                    x1=name.at[0],
                    y1=name.at[1],
                    x2=end_x,
                    y2=end_y,
                )
            )
        # The true width of the words is not known: they grow away from their point.
        if box.left >= name.at[0]:
            start, anchor = box.left, ""
        elif box.right <= name.at[0]:
            start, anchor = box.right, " end"
        else:
            start, anchor = (box.left + box.right) / 2, " middle"
        parts.append(text(start, box.bottom - 3, name.words, f"{name.classes}{anchor}"))
    return join(parts)


def _d(points: Sequence[Pixel]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)

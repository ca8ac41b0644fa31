// Points in two measures, a curve with its own points, and a bound with the area beyond it.

import { element } from "./chart.js";
import { number } from "./format.js";
import { ticks } from "./scale.js";

const EDGES = { top: 34, right: 24, bottom: 46, left: 52 };
const GAP = 4;

export class ScatterChart {
  constructor(spec) {
    this.spec = spec;
    this.svg = element("svg", { class: "chart scatter", role: "img", "aria-label": spec.label });
    this.root = document.createElement("figure");
    this.root.className = "panel";
    this.root.id = spec.id;
    this.root.append(this.svg);
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  draw() {
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!width) return;
    const { spec } = this;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const inner = {
      left: EDGES.left, right: width - EDGES.right, top: EDGES.top, bottom: height - EDGES.bottom,
    };
    const all = [...spec.points, ...spec.curve];
    const least = Math.min(...all.map((each) => each.y));
    // The bound goes on to where nobody is; it is shown as far left as the least values lead.
    const near = spec.bound.filter(([, y]) => y <= Math.max(least, spec.bound.at(-1)[1])).map(([x]) => x);
    const across = [...all.map((each) => each.x), ...near.slice(0, 1)];
    const margin = 0.06 * (Math.max(...across) - Math.min(...across)) || 1;
    const xMarks = ticks(Math.min(...across) - margin, Math.max(...across) + margin, Math.max(4, width / 110));
    const [low, high] = [Math.min(...across) - margin, Math.max(...across) + margin];
    const most = Math.max(...all.map((each) => each.y), 1) * 1.1;
    const root = spec.square_root && most > 25 ? Math.sqrt : (value) => value;
    const x = (value) => inner.left + ((value - low) / (high - low)) * (inner.right - inner.left);
    const y = (value) => inner.bottom - (root(value) / root(most)) * (inner.bottom - inner.top);
    const clip = element("clipPath", { id: "scatter-clip" }, element("rect", {
      x: inner.left, y: inner.top, width: inner.right - inner.left, height: inner.bottom - inner.top,
    }));
    const yMarks = root === Math.sqrt
      ? ticks(0, Math.sqrt(most), 5).map((each) => Math.round(each ** 2)).filter((each) => each <= most)
      : ticks(0, most, 5).filter((each) => each <= most);
    this.svg.replaceChildren(clip, ...this.axes(xMarks.filter((each) => each >= low && each <= high), yMarks, x, y, inner, root === Math.sqrt));
    const plot = element("g", { "clip-path": "url(#scatter-clip)" });
    if (spec.bound.length) plot.append(...bound(spec.bound, x, y, inner));
    const curve = spec.curve.map((each) => [x(each.x), y(each.y)]);
    if (curve.length) {
      plot.append(element("path", { class: `line strong ${spec.curve[0].style}`, d: polygon(curve) }));
    }
    this.svg.append(plot, ...spec.curve.map((each) => dot(each, x, y, 3)));
    this.svg.append(...spec.points.map((each) => dot(each, x, y, each.strong ? 6.5 : 5)));
    this.name(x, y, inner);
  }

  axes(xMarks, yMarks, x, y, inner, isRoot) {
    const { spec } = this;
    return [
      ...yMarks.flatMap((value) => [
        element("path", { class: "grid", d: `M${inner.left} ${y(value)}H${inner.right}` }),
        element("text", { class: "tick y", x: inner.left - 8, y: y(value) + 4 }, number(value)),
      ]),
      ...xMarks.flatMap((value) => [
        element("path", { class: "grid", d: `M${x(value)} ${inner.top}V${inner.bottom}` }),
        element("text", { class: "tick x", x: x(value), y: inner.bottom + 17 }, number(value)),
      ]),
      element("text", { class: "tick x", x: (inner.left + inner.right) / 2, y: inner.bottom + 38 }, spec.x_title),
      element("text", { class: "tick", x: inner.left, y: inner.top - 14 }, spec.y_title + (isRoot ? ", square-root scale" : "")),
    ];
  }

  // Names beside their points, where they cover neither points nor names; those of the points first.
  name(x, y, inner) {
    const { spec } = this;
    const dots = [...spec.points, ...spec.curve].map((each) => [x(each.x), y(each.y)]);
    const taken = dots.map(([px, py]) => [px - 5, py - 5, px + 5, py + 5]);
    const points = [...spec.points].sort((a, b) => Number(b.strong) - Number(a.strong));
    let last = null;
    const curve = spec.curve.filter((each, index) => {
      const at = [x(each.x), y(each.y)];
      const far = !last || Math.hypot(at[0] - last[0], at[1] - last[1]) > 60;
      if (far || index === spec.curve.length - 1) last = at;
      return last === at;
    });
    for (const each of [...points, ...curve]) {
      const isSmall = !points.includes(each);
      const text = element("text", { class: `name ${isSmall ? "small" : each.style}` }, each.name);
      this.svg.append(text);
      const { width, height } = text.getBBox();
      const spots = [];
      for (const away of [9, 20, 34, 50]) {
        for (const [dx, dy] of [[1, 0], [-1, 0], [0, -1], [0, 1], [0.8, -0.8], [-0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]]) {
          const left = x(each.x) + dx * away - (dx < 0 ? width : dx === 0 ? width / 2 : 0);
          const middle = y(each.y) + dy * (away + height / 2 - 4);
          spots.push([left, middle - height / 2, left + width, middle + height / 2]);
        }
      }
      const isFree = (box) => (
        box[0] >= inner.left && box[2] <= inner.right + EDGES.right && box[1] >= 0 && box[3] <= inner.bottom
        && taken.every((other) => (
          box[2] + GAP < other[0] || other[2] + GAP < box[0] || box[3] < other[1] || other[3] < box[1]
        ))
      );
      const box = spots.find(isFree);
      if (!box) {
        // The pointer still reads it out.
        if (isSmall) text.remove();
        else setAt(text, spots[0]);
        continue;
      }
      setAt(text, box);
      taken.push(box);
    }
  }
}

function setAt(text, box) {
  text.setAttribute("x", box[0].toFixed(1));
  text.setAttribute("y", (box[3] - 4).toFixed(1));
}

function dot(each, x, y, radius) {
  const circle = element("circle", {
    class: `dot ${each.style}`, cx: x(each.x).toFixed(1), cy: y(each.y).toFixed(1), r: radius,
  });
  circle.append(element("title", {}, each.about));
  return circle;
}

// From many to few. Where some are unavoidable, nobody gets below them, at any cost.
function bound(pairs, x, y, inner) {
  const points = pairs.map(([px, py]) => [x(px), y(py)]);
  const least = pairs[pairs.length - 1][1];
  if (least > 0) points.push([inner.right, y(least)]);
  const edge = polygon(points);
  return [
    element("path", { class: "beyond", d: `${edge}V${inner.bottom}H${inner.left - 1e4}V${points[0][1]}Z` }),
    element("path", { class: "limit quiet", d: edge }),
  ];
}

const polygon = (points) => `M${points.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L")}`;

// One time chart in SVG: lines, steps, a band, stacked areas, a limit and marks above it.
// Colours come from the style sheet by class, so that light and dark need nothing here.

import { known, tickTime, timeOfDay } from "./format.js";
import { lastTold, quantile, reaches, told, toldNear } from "./sparse.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { top: 12, right: 12, bottom: 24, left: 50 };
const TIME_STEPS_S = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
  3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];
let charts = 0;

export function element(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function html(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

// Round values from `low` to at least `high`, in about `count` steps.
export function ticks(low, high, count, integers) {
  const raw = Math.max((high - low) / count, 1e-12);
  const power = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 2.5, 5, 10].find((each) => each * power >= raw * 0.999) * power;
  if (integers) step = Math.max(1, Math.ceil(step));
  const first = Math.floor(low / step + 1e-9) * step;
  const values = [];
  for (let index = 0; ; index += 1) {
    const value = first + index * step;
    values.push(Number(value.toPrecision(12)));
    if (value >= high - step * 1e-9) return values;
  }
}

export class Chart {
  // spec: title, series [{name, kind, value(point), ahead(data)}], and what is wanted of
  // band, stack, limit, cap, integers, low, note(data), format. A series that is told only now and
  // then has `bridge`, and `at(point)` if its values belong elsewhere than where they are told.
  constructor(spec, onHover) {
    this.spec = spec;
    this.id = `chart-${(charts += 1)}`;
    this.note = html("p", "note");
    this.values = spec.series.map(() => html("b", "", ""));
    this.names = spec.series.map((series, index) => (
      html("li", "", swatch(series.kind, Boolean(spec.stack)), series.name, " ", this.values[index])
    ));
    this.limitName = spec.limit ? html("li", "", swatch("limit"), spec.limit.name) : null;
    const legend = html("ul", "legend", ...this.names);
    if (spec.band) {
      const name = html("li", "", swatch("band"), spec.band.name);
      name.title = spec.band.about;
      legend.append(name);
    }
    if (this.limitName) legend.append(this.limitName);
    this.svg = element("svg", { class: "chart", role: "img", "aria-label": spec.title });
    const caption = html("figcaption", "", html("h2", "", spec.title), this.note);
    this.root = html("figure", "panel", caption, legend, this.svg);
    this.root.id = spec.id;
    this.svg.addEventListener("pointermove", (event) => onHover(this.timeAt(event)));
    this.svg.addEventListener("pointerleave", () => onHover(null));
    this.data = null;
    this.at = null;
    new ResizeObserver(() => this.draw(this.data)).observe(this.svg);
  }

  timeAt(event) {
    if (!this.scale) return null;
    const box = this.svg.getBoundingClientRect();
    return this.scale.time(event.clientX - box.left);
  }

  draw(data) {
    this.data = data;
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!data || !width) return;
    const { spec } = this;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const [from, to] = data.span;
    const inner = {
      left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom,
    };
    const across = inner.right - inner.left, tall = inner.bottom - inner.top;
    // With the one before the first, so that lines begin at the edge.
    const first = Math.max(0, data.points.findIndex((point) => point.at_s >= from) - 1);
    const points = data.points.slice(first);
    const stacked = spec.stack ? points.map((point) => stackOf(spec, point)) : null;
    const extent = this.extent(points, stacked, data);
    this.words = spec.note(data) + (this.cut ? "; peaks cut off" : "");
    // A source of power that is not there needs no name.
    if (spec.sparse) {
      spec.series.forEach((series, index) => {
        this.names[index].hidden = !points.some((point) => known(series.value(point)));
      });
    }
    if (this.limitName) this.limitName.hidden = !known(spec.limit.value(data));
    const marks = ticks(extent[0], extent[1], 4, spec.integers);
    const [low, high] = [marks[0], marks[marks.length - 1]];
    const x = (at) => inner.left + ((at - from) / (to - from)) * across;
    const y = (value) => inner.bottom - ((value - low) / (high - low)) * tall;
    this.scale = { x, inner, points, time: (px) => from + ((px - inner.left) / across) * (to - from) };

    const frame = { x: inner.left, y: inner.top - 4, width: across, height: tall + 5 };
    const clip = element("clipPath", { id: this.id }, element("rect", frame));
    const plot = element("g", { "clip-path": `url(#${this.id})` });
    const reach = reaches(points.map((point) => point.at_s), data.stepS);
    if (spec.band) plot.append(...this.band(points, data, x, y, reach));
    if (stacked) plot.append(...areas(spec, points, stacked, x, y, reach));
    else for (const series of spec.series) plot.append(...lines(series, points, data, x, y, reach));
    const limit = spec.limit?.value(data);
    if (known(limit)) plot.append(element("path", { class: "limit", d: `M${inner.left} ${y(limit)}H${inner.right}` }));
    if (spec.marks) plot.append(...violations(points, x, y, high));
    const last = points[points.length - 1];
    if (last && to > last.at_s) {
      plot.append(element("path", { class: "now", d: `M${x(last.at_s)} ${inner.top}V${inner.bottom}` }));
    }
    this.cursor = element("path", { class: "cursor", d: "" });
    this.svg.replaceChildren(clip, ...this.axes(marks, x, y, inner, from, to), plot, this.cursor);
    this.hover(this.at);
  }

  extent(points, stacked, data) {
    const { spec } = this;
    let values = [];
    if (stacked) values = stacked.filter(Boolean).map((sums) => sums[sums.length - 1]);
    else for (const series of spec.series) {
      for (const point of points) values.push(series.value(point));
      if (series.ahead) values.push(...series.ahead(data).map((pair) => pair[1]));
    }
    if (spec.band) {
      for (const point of points) values.push(spec.band.high(point), spec.band.low(point));
      for (const [, , high] of spec.band.ahead(data)) values.push(high);
    }
    values = values.filter(known);
    const highest = values.length ? Math.max(...values) : 1;
    const limit = spec.limit?.value(data);
    let high = known(limit) ? Math.max(highest, limit * 1.15) : highest;
    // One extreme must not press all the others to the floor.
    if (spec.cap) {
      const usual = spec.cap * quantile(values, 0.5);
      const most = known(limit) ? Math.max(spec.cap * limit, 1.5 * quantile(values, 0.9)) : usual;
      high = Math.min(high, most);
    }
    this.cut = high < highest;
    const least = values.length ? Math.min(...values) : 0;
    const low = spec.low === "near" ? Math.max(0, least - 0.25 * Math.max(high - least, high * 0.1)) : 0;
    return [low, high > low ? high : low + 1];
  }

  axes(marks, x, y, inner, from, to) {
    const { spec } = this;
    const nodes = [];
    for (const value of marks) {
      nodes.push(element("path", { class: "grid", d: `M${inner.left} ${y(value)}H${inner.right}` }));
      nodes.push(element("text", { class: "tick y", x: inner.left - 8, y: y(value) + 4 }, spec.format(value)));
    }
    const room = Math.max(2, Math.floor((inner.right - inner.left) / 88));
    const every = TIME_STEPS_S.find((each) => (to - from) / each <= room) ?? 604800;
    const offset = new Date(from * 1000).getTimezoneOffset() * 60;
    for (let tick = Math.ceil((from - offset) / every) * every + offset; tick <= to; tick += every) {
      const px = x(tick);
      if (px < inner.left + 14 || px > inner.right - 14) continue;
      nodes.push(element("path", { class: "tick-mark", d: `M${px} ${inner.bottom}v4` }));
      nodes.push(element("text", { class: "tick x", x: px, y: inner.bottom + 17 }, tickTime(tick, every)));
    }
    return nodes;
  }

  band(points, data, x, y, reach) {
    const { band } = this.spec;
    const runs = segments(points, band.low, x, y, reach, band.high);
    const ahead = band.ahead(data).filter(([, low, high]) => known(low) && known(high));
    if (ahead.length) runs.push(ahead.map(([t, low, high]) => [x(t), y(low), y(high)]));
    return runs.map((run) => {
      const forth = run.map(([px, , top]) => `${px.toFixed(1)} ${top.toFixed(1)}`);
      const back = run.map(([px, bottom]) => `${px.toFixed(1)} ${bottom.toFixed(1)}`).reverse();
      return element("path", { class: "band", d: `M${forth.join("L")}L${back.join("L")}Z` });
    });
  }

  // Shows the values at a moment; null: those of the last step.
  hover(at) {
    this.at = at;
    if (!this.scale) return;
    const { points, x, inner } = this.scale;
    const point = at === null ? points[points.length - 1] : nearest(points, at);
    this.spec.series.forEach((series, index) => {
      const value = point ? this.valueAt(series, point, at) : null;
      this.values[index].textContent = known(value) ? this.spec.format(value) : "–";
    });
    const px = point && at !== null ? x(point.at_s) : null;
    this.note.textContent = px === null ? this.words : timeOfDay(point.at_s);
    this.cursor?.setAttribute("d", px === null || px < inner.left ? "" : `M${px} ${inner.top}V${inner.bottom}`);
  }

  valueAt(series, point, at) {
    if (!series.bridge) return series.value(point);
    const { points, stepS } = this.data;
    if (at === null) return lastTold(points, series.value, stepS);
    return toldNear(told(points, series.value, series.at), point.at_s, stepS);
  }
}

export function nearest(points, at) {
  let best = null;
  for (const point of points) if (!best || Math.abs(point.at_s - at) < Math.abs(best.at_s - at)) best = point;
  return best;
}

function swatch(kind, filled) {
  const shape = kind === "band" ? element("rect", { class: "band", width: 16, height: 10 })
    : filled ? element("rect", { class: `area ${kind}`, width: 16, height: 10 })
    : element("path", { class: kind === "limit" ? "limit" : `line ${kind}`, d: "M0 5H16" });
  return element("svg", { class: "swatch", width: 16, height: 10, viewBox: "0 0 16 10", "aria-hidden": "true" }, shape);
}

function stackOf(spec, point) {
  let sum = 0;
  const sums = [];
  for (const series of spec.series) {
    const value = series.value(point);
    if (!known(value)) return null;
    sums.push((sum += value));
  }
  return sums;
}

function areas(spec, points, stacked, x, y, reach) {
  const nodes = [];
  spec.series.forEach((series, index) => {
    const tops = new Map(points.map((point, place) => [point, stacked[place]]));
    const top = (point) => tops.get(point)?.[index] ?? null;
    const bottom = (point) => (tops.get(point) ? (index ? tops.get(point)[index - 1] : 0) : null);
    for (const run of segments(points, bottom, x, y, reach, top)) {
      const forth = run.map(([px, , high]) => `${px.toFixed(1)} ${high.toFixed(1)}`);
      const back = run.map(([px, low]) => `${px.toFixed(1)} ${low.toFixed(1)}`).reverse();
      nodes.push(element("path", { class: `area ${series.kind}`, d: `M${forth.join("L")}L${back.join("L")}Z` }));
    }
  });
  return nodes;
}

function lines(series, points, data, x, y, reach) {
  // Of all the points, as the last value before those in view may be many steps before them.
  const runs = series.bridge
    ? bridged(told(data.points, series.value, series.at), x, y, data.stepS)
    : segments(points, series.value, x, y, reach);
  const nodes = runs.map((line) => (
    element("path", { class: `line ${series.kind}`, d: path(line, series.stepped) })
  ));
  const ahead = series.ahead ? series.ahead(data).map(([at, value]) => [x(at), y(value)]) : [];
  if (ahead.length) {
    nodes.push(element("path", { class: `line ahead ${series.kind}`, d: path(ahead, series.stepped) }));
  }
  return nodes;
}

// Those above the upper edge are triangles at it.
function violations(points, x, y, high) {
  return points.filter((point) => point.late && known(point.latency_s)).map((point) => {
    const px = x(point.at_s).toFixed(1);
    if (point.latency_s > high) {
      return element("path", { class: "violation", d: `M${px} ${y(high) - 3}l4 7h-8z` });
    }
    return element("circle", { class: "violation", cx: px, cy: y(point.latency_s).toFixed(1), r: 2.6 });
  });
}

// Runs of neighbours without a gap, as [x, y] or, with a second reader, [x, y, y2].
function segments(points, read, x, y, reach, second = null) {
  const runs = [];
  let run = null;
  points.forEach((point, index) => {
    const value = read(point), other = second ? second(point) : 0;
    const isKnown = known(value) && known(other);
    const follows = index > 0 && point.at_s - points[index - 1].at_s <= reach[index - 1];
    if (!isKnown || !follows) run = null;
    if (!isKnown) return;
    if (!run) runs.push((run = []));
    run.push(second ? [x(point.at_s), y(value), y(other)] : [x(point.at_s), y(value)]);
  });
  return runs;
}

// Runs of values as [x, y]; a step without one between them is no gap.
function bridged(pairs, x, y, stepS) {
  const reach = reaches(pairs.map(([at]) => at), stepS);
  const runs = [];
  pairs.forEach(([at, value], index) => {
    if (!index || at - pairs[index - 1][0] > reach[index - 1]) runs.push([]);
    runs[runs.length - 1].push([x(at), y(value)]);
  });
  return runs;
}

function path(line, stepped) {
  const [first, ...rest] = line;
  let text = `M${first[0].toFixed(1)} ${first[1].toFixed(1)}`;
  for (const [px, py] of rest) {
    const [right, down] = [px.toFixed(1), py.toFixed(1)];
    text += stepped ? `H${right}V${down}` : `L${right} ${down}`;
  }
  return rest.length ? text : `${text}h0.1`;
}

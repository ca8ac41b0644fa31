// One chart over time in SVG, from data: lines, steps, areas, a band, a limit, marks and strips.
// A line is [[time, value], …] with null where it breaks off. What is drawn comes as a description
// (runtime/report/charts.py); colours come from the style sheet by class, for light, dark and paper.

import { FORMATS, MISSING, elapsed, known, tickTime, timeOfDay } from "./format.js";
import { logTicks, quantile, ticks } from "./scale.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { top: 12, right: 12, bottom: 24, left: 50 };
const STRIP_PX = 20;
const TIME_STEPS_S = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
  3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];
const LARGE_RANGE = 10;
let charts = 0;

export function element(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function html(name, className, ...children) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export class Chart {
  constructor(spec, onHover) {
    this.spec = spec;
    this.id = `chart-${(charts += 1)}`;
    this.format = FORMATS[spec.format];
    this.note = html("p", "note");
    this.values = spec.lines.map(() => html("b", "", ""));
    this.names = spec.lines.map((line, index) => (
      html("li", "", swatch(line, spec.stacked), line.name, " ", this.values[index])
    ));
    this.limitName = spec.limit ? html("li", "", swatch({ style: "limit" }), spec.limit.name) : null;
    const legend = html("ul", "legend", ...this.names);
    if (spec.band) {
      const name = html("li", "", swatch({ style: "band" }), spec.band.name);
      name.title = spec.band.about;
      legend.append(name);
    }
    if (this.limitName) legend.append(this.limitName);
    this.svg = element("svg", {
      class: "chart", role: "img", "aria-label": `${spec.title}: ${spec.note}`,
    });
    if (spec.strips) this.svg.style.height = `${STRIP_PX * spec.lines.length + 34}px`;
    const caption = html("figcaption", "", html("h2", "", spec.title), this.note);
    const remark = spec.remark ? html("p", "remark", spec.remark) : null;
    this.root = html("figure", "panel", caption, remark, legend, this.svg);
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

  // data: lines and what is ahead of them by key, their last values, span, now, clock.
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
    const x = (at) => inner.left + ((at - from) / (to - from)) * across;
    const stacks = spec.stacked ? this.stacks() : null;
    const { marks, scale: share } = this.axis(stacks);
    const y = (value) => inner.bottom - share(value) * tall;
    const high = marks[marks.length - 1];
    this.scale = { x, inner, time: (px) => from + ((px - inner.left) / across) * (to - from) };
    this.words = [spec.note, this.cut ? "peaks cut off" : ""].filter(Boolean).join("; ");
    // A source of power that is not there needs no name.
    if (spec.hides_missing) {
      spec.lines.forEach((line, index) => { this.names[index].hidden = !this.line(line.key).some(Boolean); });
    }
    const limit = spec.limit?.value;
    if (this.limitName) this.limitName.hidden = !known(limit);

    const frame = { x: inner.left, y: inner.top - 4, width: across, height: tall + 5 };
    const clip = element("clipPath", { id: this.id }, element("rect", frame));
    const plot = element("g", { "clip-path": `url(#${this.id})` });
    if (spec.strips) plot.append(...this.strips(x, inner));
    else {
      if (spec.band) plot.append(...this.band(x, y));
      if (stacks) plot.append(...areas(spec, stacks, x, y));
      else for (const line of spec.lines) plot.append(...this.paths(line, x, y, inner.bottom));
      if (known(limit)) plot.append(element("path", { class: "limit", d: `M${inner.left} ${y(limit)}H${inner.right}` }));
      if (spec.marks) plot.append(...violations(this.line(spec.marks).filter(Boolean), x, y, high));
    }
    if (known(data.now) && to > data.now) {
      plot.append(element("path", { class: "now", d: `M${x(data.now)} ${inner.top}V${inner.bottom}` }));
    }
    this.cursor = element("path", { class: "cursor", d: "" });
    const values = spec.strips ? [] : this.valueAxis(marks, y, inner);
    this.svg.replaceChildren(clip, ...values, ...this.timeAxis(x, inner, from, to), plot, this.cursor);
    this.hover(this.at);
  }

  line(key) {
    return this.data.lines[key] ?? [];
  }

  ahead(key) {
    return this.data.ahead?.[key] ?? [];
  }

  // The values in view, with the one before the first, at which lines begin.
  shown(key) {
    const pairs = this.line(key).filter(Boolean);
    const first = Math.max(0, pairs.findIndex(([at]) => at >= this.data.span[0]) - 1);
    return [...pairs.slice(first), ...this.ahead(key)].map(([, value]) => value);
  }

  axis(stacks) {
    const { spec } = this;
    const keys = spec.lines.map((line) => line.key);
    if (spec.band) keys.push(spec.band.low, spec.band.high);
    const values = stacks
      ? stacks.flat().filter((each) => each && each[0] >= this.data.span[0]).map((each) => each[each.length - 1])
      : keys.flatMap((key) => this.shown(key));
    const highest = values.length ? Math.max(...values) : 1;
    const limit = spec.limit?.value;
    let high = known(limit) ? Math.max(highest, limit * 1.15) : highest;
    const positive = values.filter((value) => value > 0).concat(known(limit) ? [limit] : []);
    const lowest = Math.min(...positive);
    this.cut = false;
    if (spec.logarithmic && positive.length && highest > LARGE_RANGE * lowest) {
      const marks = logTicks(lowest, high);
      const [low, top] = [Math.log(marks[0]), Math.log(marks[marks.length - 1])];
      return { marks, scale: (value) => Math.max((Math.log(value) - low) / (top - low), 0) };
    }
    // One extreme must not press all the others to the floor.
    if (spec.cap) {
      const usual = spec.cap * quantile(values, 0.5);
      const most = known(limit) ? Math.max(spec.cap * limit, 1.5 * quantile(values, 0.9)) : usual;
      high = Math.min(high, most);
    }
    this.cut = high < highest;
    const least = values.length ? Math.min(...values) : 0;
    const bottom = spec.near ? Math.max(0, least - 0.25 * Math.max(high - least, high * 0.1)) : 0;
    const marks = ticks(bottom, high > bottom ? high : bottom + 1, 4, spec.integers);
    const [low, top] = [marks[0], marks[marks.length - 1]];
    return { marks, scale: (value) => (value - low) / (top - low) };
  }

  valueAxis(marks, y, inner) {
    return marks.flatMap((value) => [
      element("path", { class: "grid", d: `M${inner.left} ${y(value)}H${inner.right}` }),
      element("text", { class: "tick y", x: inner.left - 8, y: y(value) + 4 }, this.format(value).split(" ")[0]),
    ]);
  }

  timeAxis(x, inner, from, to) {
    const nodes = [];
    const room = Math.max(2, Math.floor((inner.right - inner.left) / 88));
    const every = TIME_STEPS_S.find((each) => (to - from) / each <= room) ?? 604800;
    const offset = this.data.clock ? new Date(from * 1000).getTimezoneOffset() * 60 : 0;
    for (let tick = Math.ceil((from - offset) / every) * every + offset; tick <= to; tick += every) {
      const px = x(tick);
      if (this.data.clock && (px < inner.left + 14 || px > inner.right - 14)) continue;
      const words = this.data.clock ? tickTime(tick, every) : elapsed(tick, to - from);
      nodes.push(element("path", { class: "tick-mark", d: `M${px} ${inner.bottom}v4` }));
      nodes.push(element("text", { class: "tick x", x: px, y: inner.bottom + 17 }, words));
    }
    return nodes;
  }

  paths(line, x, y, bottom) {
    const nodes = [];
    for (const run of runs(this.line(line.key), x, y)) {
      if (line.filled) {
        const edge = `L${run[run.length - 1][0].toFixed(1)} ${bottom}L${run[0][0].toFixed(1)} ${bottom}Z`;
        nodes.push(element("path", { class: `area ${line.style}`, d: path(run, false) + edge }));
      }
      nodes.push(element("path", { class: `line ${line.style}`, d: path(run, line.stepped) }));
    }
    for (const run of runs(this.ahead(line.key), x, y)) {
      nodes.push(element("path", { class: `line ahead ${line.style}`, d: path(run, line.stepped) }));
    }
    return nodes;
  }

  band(x, y) {
    const { low, high } = this.spec.band;
    const both = (lows, highs) => {
      const tops = new Map(highs.filter(Boolean));
      return lows.map((pair) => (pair && tops.has(pair[0]) ? [...pair, tops.get(pair[0])] : null));
    };
    const pieces = [both(this.line(low), this.line(high)), both(this.ahead(low), this.ahead(high))];
    return pieces.flatMap((piece) => runs(piece, x, y)).map((run) => element("path", { class: "band", d: outline(run) }));
  }

  // Of every line [time, sum before it, sum with it], while all of them are known.
  stacks() {
    const maps = this.spec.lines.map((line) => new Map(this.line(line.key).filter(Boolean)));
    const sums = new Map();
    return this.spec.lines.map((line, index) => this.line(line.key).map((pair) => {
      if (!pair || !maps.every((map) => map.has(pair[0]))) return null;
      const below = sums.get(pair[0]) ?? 0;
      sums.set(pair[0], below + maps[index].get(pair[0]));
      return [pair[0], below, sums.get(pair[0])];
    }));
  }

  strips(x, inner) {
    return this.spec.lines.flatMap((line, index) => {
      const top = inner.top + index * STRIP_PX, bottom = top + STRIP_PX - 6;
      const marks = this.line(line.key).filter(Boolean).map(([at]) => `M${x(at).toFixed(1)} ${top}V${bottom}`);
      return [
        element("path", { class: "grid", d: `M${inner.left} ${bottom}H${inner.right}` }),
        element("path", { class: `mark ${line.style}`, d: marks.join("") }),
      ];
    });
  }

  // Shows the values at a moment; null: those of the last step.
  hover(at) {
    this.at = at;
    if (!this.scale) return;
    const { x, inner } = this.scale;
    this.spec.lines.forEach((line, index) => {
      const value = at === null ? this.data.last?.[line.key] : valueAt([...this.line(line.key), ...this.ahead(line.key)], at, line.stepped);
      const count = this.spec.strips ? String(this.line(line.key).filter(Boolean).length) : null;
      const quiet = at === null && !this.data.last ? "" : MISSING;
      this.values[index].textContent = count ?? (known(value) ? this.format(value).split(" ")[0] : quiet);
    });
    const when = at === null ? null : this.data.clock ? timeOfDay(at) : elapsed(at, 0);
    const px = at === null ? null : x(at);
    this.note.textContent = when ?? this.words;
    this.cursor?.setAttribute("d", px === null || px < inner.left ? "" : `M${px} ${inner.top}V${inner.bottom}`);
  }
}

// The value of a line at a moment: of the pair before it if stepped, otherwise of the nearer one.
function valueAt(line, at, stepped) {
  const after = line.findIndex((pair) => pair && pair[0] >= at);
  const next = after < 0 ? null : line[after];
  const before = after < 0 ? line[line.length - 1] : after > 0 ? line[after - 1] : null;
  if (!before || !next) return next && next[0] === at ? next[1] : null;
  return stepped || at - before[0] < next[0] - at ? before[1] : next[1];
}

function swatch({ style, filled }, stacked = false) {
  const box = { width: 16, height: 10 };
  const shape = style === "band" ? element("rect", { class: "band", ...box })
    : filled || stacked ? element("rect", { class: `area ${style}`, ...box })
    : element("path", { class: style === "limit" ? "limit" : `line ${style}`, d: "M0 5H16" });
  return element("svg", { class: "swatch", ...box, viewBox: "0 0 16 10", "aria-hidden": "true" }, shape);
}

function areas(spec, stacks, x, y) {
  return spec.lines.flatMap((line, index) => runs(stacks[index], x, y).map((run) => (
    element("path", { class: `area ${line.style}`, d: outline(run) })
  )));
}

// Those above the upper edge are triangles at it.
function violations(pairs, x, y, high) {
  return pairs.map(([at, value]) => {
    const px = x(at).toFixed(1);
    if (value > high) return element("path", { class: "violation", d: `M${px} ${y(high) - 3}l4 7h-8z` });
    return element("circle", { class: "violation", cx: px, cy: y(value).toFixed(1), r: 2.6 });
  });
}

// The unbroken pieces of a line, in pixels.
function runs(line, x, y) {
  const pieces = [];
  let piece = null;
  for (const pair of line) {
    if (!pair) piece = null;
    else {
      if (!piece) pieces.push((piece = []));
      const [at, ...values] = pair;
      piece.push([x(at), ...values.map(y)]);
    }
  }
  return pieces;
}

function outline(run) {
  const forth = run.map(([px, , top]) => `${px.toFixed(1)} ${top.toFixed(1)}`);
  const back = run.map(([px, bottom]) => `${px.toFixed(1)} ${bottom.toFixed(1)}`).reverse();
  return `M${forth.join("L")}L${back.join("L")}Z`;
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

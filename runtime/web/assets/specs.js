// Which charts there are, and where each of their lines comes from.

import { number, short } from "./format.js";

const lastOf = (data) => data.points[data.points.length - 1];

// The forecast from the next step on, as [time, ...values].
const forecast = (read) => (data) => {
  const begin = lastOf(data).at_s;
  return data.latest.fan.map((each, index) => [begin + (index + 1) * data.stepS, ...read(each)]);
};

const range = (each) => [each.low_per_s, each.high_per_s];
const rangeAhead = (data) => {
  const last = lastOf(data);
  return data.latest.fan.length ? [[last.at_s, ...range(last)], ...forecast(range)(data)] : [];
};

const planned = (read) => (data) => {
  const begin = lastOf(data).at_s;
  return data.latest.plan.map((each, index) => [begin + index * data.stepS, read(each)]);
};

const stages = (read) => [
  { name: "observed", kind: "observed", stepped: true, value: (point) => read(point.observed) },
  { name: "requested", kind: "requested", stepped: true, value: (point) => read(point.requested) },
  {
    name: "plan", kind: "planned", stepped: true,
    value: (point) => read(point.planned), ahead: planned(read),
  },
];

const powerFrom = (source) => ({
  name: source, kind: source,
  value: (point) => (point.power_source === source ? point.power_w : null),
});

const costTerm = (term) => ({
  name: term, kind: term, value: (point) => point.cost?.[term] ?? null,
});

export const SPECS = [
  {
    id: "arrivals", title: "Arrival rate", format: number,
    note: () => "items per second",
    series: [
      {
        name: "expected", kind: "expected",
        value: (point) => point.expected_per_s, ahead: forecast((each) => [each.per_s]),
      },
      {
        name: "arrived", kind: "measured", bridge: true,
        value: (point) => point.arrivals_per_s, at: (point) => point.at_s - point.arrivals_age_s,
      },
    ],
    band: {
      name: "80 % range", about: "as far as eight of ten recent forecasts were off",
      low: (point) => point.low_per_s, high: (point) => point.high_per_s, ahead: rangeAhead,
    },
  },
  {
    id: "latency", title: "Latency", format: short, cap: 3, marks: true,
    note: () => "seconds; red: above the target",
    series: [{ name: "measured", kind: "measured", bridge: true, value: (point) => point.latency_s }],
    limit: { name: "target", value: (data) => data.facts.target_latency_s },
  },
  {
    id: "executors", title: "Executors", format: number, integers: true,
    note: () => "count",
    series: stages((place) => place.executors),
  },
  {
    id: "frequency", title: "CPU frequency", format: (value) => short(value), low: "near",
    note: () => "GHz",
    series: stages((place) => place.frequency_khz / 1e6),
  },
  {
    id: "power", title: "Power of the hosts", format: number, sparse: true,
    note: () => "watts, by how it is known",
    series: ["measured", "modelled", "emulated"].map(powerFrom),
    limit: { name: "cap", value: (data) => data.facts.power_cap_w },
  },
  {
    id: "cost", title: "Cost of the plan", format: (value) => short(value), stack: true, cap: 4,
    note: () => "weighted, over the horizon",
    series: ["resource", "latency", "switching"].map(costTerm),
  },
];

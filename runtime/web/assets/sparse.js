// Series of which only some steps are known, as when a value is told at the end of a batch: how far
// one of them leads to the next. The same rule as in forecasting/sparse.py.

import { known } from "./format.js";

const USUAL_GAPS = 3.5;
const NEIGHBOURS = 5;

export function quantile(values, share) {
  const sorted = values.filter(known).sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0;
}

// How long after each value the next one may come for the time between to be no gap; `times` ascend.
export function reaches(times, stepS) {
  const gaps = times.slice(1).map((at, index) => at - times[index]);
  return times.map((_, index) => {
    const near = gaps.slice(Math.max(index - NEIGHBOURS, 0), index + NEIGHBOURS);
    return USUAL_GAPS * Math.max(stepS, quantile(near, 0.5));
  });
}

// The values that are known as [time, value], each at the time it belongs to.
export function told(points, read, at = (point) => point.at_s) {
  const pairs = points.map((point) => [at(point), read(point)]).filter(([, value]) => known(value));
  return pairs.sort((a, b) => a[0] - b[0]);
}

// The last value that was told, unless the next one is overdue; null if so.
export function lastTold(points, read, stepS) {
  return toldNear(told(points, read), points[points.length - 1].at_s, stepS);
}

// The value told nearest to a moment, if it is near enough to say something about it.
export function toldNear(pairs, at, stepS) {
  const away = pairs.map(([time]) => Math.abs(time - at));
  const best = away.indexOf(Math.min(...away));
  const reach = reaches(pairs.map(([time]) => time), stepS);
  return away[best] <= reach[best] ? pairs[best][1] : null;
}

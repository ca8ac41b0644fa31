// Round values for axes, and what is usual among values.

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

// 1, 2 and 5 times the powers of ten around the values.
export function logTicks(low, high) {
  const all = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.log10(high) + 1; power += 1) {
    all.push(...[1, 2, 5].map((each) => Number((each * 10 ** power).toPrecision(3))));
  }
  const first = all.findLastIndex((each) => each <= low * 1.0001);
  const inside = all.slice(first, all.findIndex((each) => each >= high * 0.9999) + 1);
  return inside.length <= 6 ? inside : inside.filter((each, index) => (
    !index || index === inside.length - 1 || Number.isInteger(Math.log10(each))
  ));
}

export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0;
}

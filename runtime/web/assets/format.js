// Figures and times as people read them. Missing is a dash, never 0.

const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const signed = new Intl.NumberFormat("en", {
  minimumFractionDigits: 3, maximumFractionDigits: 3, signDisplay: "always", useGrouping: false,
});
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const hours = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const clock = new Intl.DateTimeFormat(undefined, { ...hours, second: "2-digit" });
const minute = new Intl.DateTimeFormat(undefined, hours);
const day = new Intl.DateTimeFormat(undefined, { ...hours, month: "short", day: "numeric" });

export const MISSING = "–";
export const known = (value) => typeof value === "number" && Number.isFinite(value);

export function number(value) {
  if (!known(value)) return MISSING;
  return Math.abs(value) >= 1000 ? whole.format(value) : plain.format(value);
}

export function short(value, digits = 3) {
  if (!known(value)) return MISSING;
  return Math.abs(value) >= 100 ? whole.format(value) : String(Number(value.toPrecision(digits)));
}

export const cost = (value) => (known(value) ? value.toFixed(3) : MISSING);
export const difference = (value) => (known(value) ? signed.format(value) : MISSING);
export const watts = (value) => (known(value) ? `${short(value)} W` : MISSING);
export const hertz = (value) => (known(value) ? `${(value / 1e9).toFixed(2)} GHz` : MISSING);
export const gigahertz = (khz) => hertz(khz * 1000);
export const place = (configuration) => `${configuration.executors} × ${gigahertz(configuration.frequency_khz)}`;

export function seconds(value) {
  if (!known(value)) return MISSING;
  return Math.abs(value) < 1 ? `${short(value * 1e3)} ms` : `${short(value)} s`;
}

export function joules(value) {
  if (!known(value)) return MISSING;
  const units = [[3.6e6, "kWh"], [3600, "Wh"], [1, "J"]];
  const [size, unit] = units.find(([each]) => value >= each) ?? units[2];
  return `${short(value / size)} ${unit}`;
}

// By the names that declarations use (runtime/report/text.py).
export const FORMATS = {
  number, seconds, hertz, watts, joules, cost,
  per_s: (value) => (known(value) ? `${number(value)} items/s` : MISSING),
};

export function duration(s) {
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} days`;
}

export const timeOfDay = (s) => clock.format(s * 1000);

// How finely an axis of this many seconds a tick is labelled.
export function tickTime(s, everyS) {
  if (everyS < 60) return clock.format(s * 1000);
  return (everyS < 43200 ? minute : day).format(s * 1000);
}

// Since the start; `spanS`: how long the axis is.
export function elapsed(s, spanS) {
  const [size, unit] = spanS >= 21600 ? [3600, "h"] : spanS >= 900 ? [60, "min"] : [1, "s"];
  return `${short(s / size, 4)} ${unit}`;
}

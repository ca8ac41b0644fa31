// Loads the state, follows the events of the server and redraws. Reconnects by itself.

import { Chart, nearest } from "./chart.js";
import { duration, timeOfDay } from "./format.js";
import * as panels from "./panels.js";
import { SPECS } from "./specs.js";

const MOST_POINTS = 2000;
const RETRY_MS = 2000;
const WINDOWS = [["2 min", 120], ["5 min", 300], ["15 min", 900], ["1 h", 3600], ["all", null]];
const FEWEST_STEPS = 240;
const byId = (id) => document.getElementById(id);

let state = null;
let clockOffsetS = 0;
let windowS;
let source = null;

const charts = SPECS.map((spec) => new Chart(spec, hover));

function hover(at) {
  for (const chart of charts) chart.hover(at);
  const point = at === null || !state ? null : nearest(state.points, at);
  document.body.dataset.hover = point ? point.step : "";
}

function span() {
  const { points, latest } = state;
  if (!points.length) return [state.now_s - 300, state.now_s];
  const last = points[points.length - 1].at_s;
  const reach = latest ? Math.max(latest.fan.length, latest.plan.length - 1) * state.step_s : 0;
  const oldest = points[0].at_s;
  const from = windowS === null ? oldest : Math.max(last - windowS, Math.min(oldest, last - 60));
  return [from, Math.max(last + reach, from + 1)];
}

function draw() {
  const [from, to] = span();
  const inView = state.points.filter((point) => point.at_s >= from);
  const data = { ...state, stepS: state.step_s, span: [from, to], inView };
  panels.figures(byId("figures"), data);
  if (state.latest) for (const chart of charts) chart.draw(data);
  panels.decisions(byId("decisions"), state.decisions);
  panels.alternatives(byId("alternatives"), state.latest);
  panels.hosts(byId("hosts"), state.hosts, state.live);
  panels.queries(byId("queries-panel"), byId("queries"), state.latest?.queries ?? []);
  const { facts, latest } = state;
  document.title = `${facts.application} – Foresight`;
  byId("application").textContent = facts.application;
  const advises = latest?.mode === "advise" ? "advises only" : null;
  const chips = [facts.policy, advises, `step ${duration(state.step_s)}`].filter(Boolean);
  byId("chips").replaceChildren(...chips.map((text) => {
    const chip = document.createElement("li");
    chip.textContent = text;
    return chip;
  }));
  document.body.dataset.step = latest ? latest.step : "";
  tell();
}

function tell() {
  const connection = document.body.dataset.connection;
  const last = state?.points[state.points.length - 1];
  const age = last ? Math.max(0, Date.now() / 1000 + clockOffsetS - last.at_s) : null;
  const stale = age !== null && age > Math.max(5 * state.step_s, 5);
  let words = { connecting: "connecting", lost: "connection lost, trying again" }[connection];
  if (connection === "open") {
    if (age === null) words = "waiting for the first step";
    else words = stale ? silence(age, last.at_s) : "live";
  }
  document.body.classList.toggle("stale", connection === "open" && stale);
  document.body.classList.toggle("over", Boolean(state && !state.live));
  byId("connection-words").textContent = words;
}

// A controller that is silent is in trouble; a journal that has ended is only over.
function silence(age, at) {
  if (state.live) return `no step for ${duration(age)}`;
  return `journal ends at ${timeOfDay(at)}, ${duration(age)} ago`;
}

function connected(condition) {
  document.body.dataset.connection = condition;
  tell();
}

async function answer(path) {
  const response = await fetch(path, { cache: "no-store" });
  if (response.status === 401) location.assign("/login");
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

async function load() {
  state = await answer("/api/state");
  clockOffsetS = state.now_s - Date.now() / 1000;
  if (windowS === undefined) {
    const fewestS = FEWEST_STEPS * state.step_s;
    choose(WINDOWS.find(([, seconds]) => seconds === null || seconds >= fewestS)[1]);
  }
  draw();
}

function take(step) {
  const last = state.points[state.points.length - 1];
  if (last && step.point.at_s <= last.at_s && step.point.step <= last.step) return;
  state.points = state.points.filter((point) => point.at_s < step.point.at_s);
  state.points.push(step.point);
  if (state.window_s !== null) {
    const oldest = step.point.at_s - state.window_s;
    state.points = state.points.filter((point) => point.at_s >= oldest);
  }
  state.latest = step.latest;
  state.hosts = step.hosts;
  const index = state.decisions.findIndex((entry) => (
    entry.step === step.decision.step && entry.at_s === step.decision.at_s
  ));
  if (index >= 0) state.decisions[index] = step.decision;
  else state.decisions.push(step.decision);
  state.decisions = state.decisions.slice(-60);
  // The server thins what is too much to draw.
  if (state.points.length > MOST_POINTS) load().catch(() => {});
  else draw();
}

function connect() {
  source?.close();
  source = new EventSource("/api/events");
  source.addEventListener("hello", async (event) => {
    const hello = JSON.parse(event.data);
    const last = state?.points[state.points.length - 1];
    try {
      // Another server, or steps that were missed: read it all again.
      if (!state || hello.boot !== state.boot || hello.at_s !== (last?.at_s ?? null)) await load();
      connected("open");
    } catch {
      again();
    }
  });
  source.addEventListener("step", (event) => {
    if (state) take(JSON.parse(event.data));
  });
  source.onerror = () => {
    connected("lost");
    if (source.readyState === EventSource.CLOSED) again();
  };
}

function again() {
  source?.close();
  connected("lost");
  setTimeout(connect, RETRY_MS);
}

function windows() {
  const buttons = WINDOWS.map(([name, seconds]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => {
      choose(seconds);
      if (state) draw();
    });
    return button;
  });
  byId("windows").append(...buttons);
}

function choose(seconds) {
  windowS = seconds;
  [...byId("windows").children].forEach((button, index) => {
    button.setAttribute("aria-pressed", String(WINDOWS[index][1] === seconds));
  });
}

windows();
byId("charts").append(...charts.map((chart) => chart.root));
setInterval(tell, 1000);
connect();

// Loads the state, follows the events of the server and redraws. Reconnects by itself.

import { Chart } from "./chart.js";
import { duration, timeOfDay } from "./format.js";
import * as panels from "./panels.js";

const MOST_PAIRS = 2000;
const RETRY_MS = 2000;
const WINDOWS = [["2 min", 120], ["5 min", 300], ["15 min", 900], ["1 h", 3600], ["all", null]];
const FEWEST_STEPS = 240;
const byId = (id) => document.getElementById(id);

let state = null;
let clockOffsetS = 0;
let windowS;
let source = null;

let charts = [];

function hover(at) {
  for (const chart of charts) chart.hover(at);
  document.body.dataset.hover = at ?? "";
}

const ends = (place) => Object.values(state.lines).map((line) => line.filter(Boolean).at(place)?.[0]).filter(Boolean);

function span() {
  const last = state.latest?.at_s;
  if (!last) return [state.now_s - 300, state.now_s];
  const oldest = Math.min(last, ...ends(0));
  const reach = Math.max(last, ...Object.values(state.ahead).map((pairs) => pairs.at(-1)[0]));
  const from = windowS === null ? oldest : Math.max(last - windowS, Math.min(oldest, last - 60));
  return [from, Math.max(reach, from + 1)];
}

function draw() {
  const data = { ...state, span: span(), now: state.latest?.at_s, clock: true };
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
  const last = state?.latest;
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
    charts = state.charts.map((spec) => new Chart(spec, hover));
    byId("charts").append(...charts.map((chart) => chart.root));
    choose(WINDOWS.find(([, seconds]) => seconds === null || seconds >= fewestS)[1]);
  }
  draw();
}

function take(step) {
  const { latest } = state;
  if (latest && step.latest.at_s <= latest.at_s && step.latest.step <= latest.step) return;
  for (const [key, end] of Object.entries(step.lines)) state.lines[key] = continued(state.lines[key] ?? [], end);
  Object.assign(state, {
    latest: step.latest, figures: step.figures, last: step.last, ahead: step.ahead, hosts: step.hosts,
  });
  const index = state.decisions.findIndex((entry) => (
    entry.step === step.decision.step && entry.at_s === step.decision.at_s
  ));
  if (index >= 0) state.decisions[index] = step.decision;
  else state.decisions.push(step.decision);
  state.decisions = state.decisions.slice(-60);
  // The server thins what is too much to draw.
  if (Object.values(state.lines).some((line) => line.length > MOST_PAIRS)) load().catch(() => {});
  else draw();
}

// A line with its new end, from the first time of the end on; without what is too old.
function continued(line, end) {
  const first = end.find(Boolean)?.[0];
  const oldest = state.window_s === null ? -Infinity : state.latest.at_s - state.window_s;
  const until = first === undefined ? -1 : line.findIndex((pair) => pair && pair[0] >= first);
  const kept = (until < 0 ? line : line.slice(0, until)).filter((pair) => !pair || pair[0] >= oldest);
  return [...kept, ...end];
}

function connect() {
  source?.close();
  source = new EventSource("/api/events");
  source.addEventListener("hello", async (event) => {
    const hello = JSON.parse(event.data);
    const last = state?.latest;
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
setInterval(tell, 1000);
connect();

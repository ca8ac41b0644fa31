// The panels that are text: figures at a glance, decisions, alternatives, agents and queries.
// Text is always set as text, never as markup.

import {
  MISSING, cost, difference, duration, energy, gigahertz, known, number, place, seconds, short, timeOfDay,
  watts,
} from "./format.js";
import { lastTold } from "./sparse.js";

const MOST_DECISIONS = 20;
const SIGNS = {
  up: ["▲", "more capacity"],
  down: ["▼", "less capacity"],
  hold: ["=", "held"],
};
const GOOD_EVENTS = new Set([
  "started", "resumed", "dead_time_learned", "executor_started", "executor_drained",
  "agent_recovered", "query_started", "query_recovered", "session_recovered", "cluster_recovered",
]);
const MOODS = {
  controlled: "good", watched: "good", recovered: "good", lost: "bad", "no agent": "bad",
};

function node(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const empty = (words) => node("p", "empty", words);
const cell = (text, className = "") => node("td", className, text);
export const total = (terms) => (terms ? terms.latency + terms.resource + terms.switching : null);

// At a glance. A step in which no batch ended tells neither rate nor latency: the last are shown.
export function figures(host, data) {
  const { latest, points, facts } = data;
  const last = points[points.length - 1];
  if (!last || !latest) {
    host.replaceChildren(empty("No step yet: the first one is due soon."));
    return;
  }
  const first = data.inView[0] ?? last;
  host.replaceChildren(
    figure(
      "Arrivals", number(lastTold(points, (point) => point.arrivals_per_s, data.stepS)), "items/s",
      `next ${number(latest.fan[0]?.per_s)}`,
    ),
    latencyFigure(data, facts.target_latency_s),
    lateFigure(first, last, facts.target_latency_s),
    figure(
      "Executors", number(last.observed.executors),
      known(facts.max_executors) ? `of ${facts.max_executors}` : "",
      `requested ${last.requested.executors}`,
    ),
    figure(
      "Frequency", ...split(gigahertz(last.observed.frequency_khz)),
      `requested ${gigahertz(last.requested.frequency_khz)}`,
    ),
    figure("Power", ...split(watts(last.power_w)), known(last.power_w) ? last.power_source : "not known"),
    energyFigure(first, last, data.inView),
    costFigure(latest),
  );
}

function latencyFigure({ points, latest, stepS }, target) {
  const latency = lastTold(points, (point) => point.latency_s, stepS);
  const aim = known(target) ? `target ${seconds(target)}` : "target unknown";
  const mood = known(latency) && known(target) ? (latency > target ? "bad" : "good") : "";
  const note = latest.latency_kind ? `${aim}, ${latest.latency_kind}` : aim;
  return figure("Latency", ...split(seconds(latency)), note, mood);
}

function lateFigure(first, last, target) {
  const steps = last.steps - first.steps, late = last.late_steps - first.late_steps;
  if (!known(target)) return figure("Late steps", MISSING, "", "target unknown");
  const share = steps ? `${short((100 * late) / steps, 2)} % in view` : "";
  return figure("Late steps", number(late), `of ${number(steps)}`, share, late ? "bad" : "");
}

function energyFigure(first, last, inView) {
  const powered = inView.filter((point) => known(point.power_w));
  const sources = [...new Set(powered.map((point) => point.power_source))];
  if (!sources.length) return figure("Energy", MISSING, "", "not known");
  const note = `${duration(last.at_s - first.at_s)}, ${sources.join(" and ")}`;
  return figure("Energy", ...split(energy(last.energy_j - first.energy_j)), note);
}

function costFigure(latest) {
  if (!latest.cost) return figure("Plan cost", MISSING, "", "this policy does not plan");
  const note = latest.proven ? "proven optimal" : `bound ${cost(latest.lower_bound)}`;
  return figure("Plan cost", cost(total(latest.cost)), "", note);
}

function figure(name, value, unit, note, mood = "") {
  const shown = node("p", "value", node("strong", "", value), unit ? node("span", "unit", unit) : null);
  return node("div", `figure ${mood}`, node("h3", "", name), shown, node("p", "note", note ?? ""));
}

// "1.2 GHz" as its figure and its unit.
function split(text) {
  const space = text.lastIndexOf(" ");
  return space < 0 ? [text, ""] : [text.slice(0, space), text.slice(space + 1)];
}

export function decisions(host, entries) {
  const newest = [...entries].reverse().slice(0, MOST_DECISIONS);
  host.replaceChildren(...newest.map(decision));
  if (!newest.length) host.append(node("li", "empty", "None yet."));
}

function decision(entry) {
  const { before, requested, wanted } = entry;
  const aim = entry.mode === "advise" ? wanted : requested;
  const more = aim.executors - before.executors || aim.frequency_khz - before.frequency_khz;
  const kind = more > 0 ? "up" : more < 0 ? "down" : "hold";
  const [mark, meaning] = SIGNS[kind];
  const sign = node("span", `sign ${kind}`, mark);
  sign.title = meaning;
  const when = node("time", "", timeOfDay(entry.at_s));
  when.dateTime = new Date(entry.at_s * 1000).toISOString();
  const times = entry.times > 1
    ? node("span", "times", `${number(entry.times)} steps, until ${timeOfDay(entry.last_at_s)}`)
    : null;
  const events = entry.events.map((event) => (
    node("li", GOOD_EVENTS.has(event.kind) ? "event good" : "event warn", event.words)
  ));
  return node(
    "li", kind, sign,
    node(
      "div", "",
      node("p", "when", when, times),
      node("p", "words", entry.words),
      events.length ? node("ul", "events", ...events) : null,
    ),
  );
}

export function alternatives(host, latest) {
  if (!latest?.cost) {
    host.replaceChildren(empty("This policy weighs no alternatives, or has not planned yet."));
    return;
  }
  const planned = latest.plan[0] ?? latest.target;
  const followed = place(planned) === place(latest.target);
  const note = followed
    ? "Cost of the plan that was chosen, and of the next best first moves, over the horizon."
    : `The cheapest plan starts with ${place(planned)}; ${place(latest.target)} was applied.`;
  const name = followed ? `${place(planned)} ✓` : place(planned);
  const rows = [costRow("chosen", name, latest.cost, "")];
  for (const each of latest.alternatives) {
    const more = total(each.cost) - total(latest.cost);
    rows.push(costRow("", place(each.configuration), each.cost, difference(more)));
    const reason = cell(each.reason);
    reason.colSpan = 6;
    rows.push(node("tr", "reason", reason));
  }
  const head = table(["Configuration", "Latency", "Resource", "Switching", "Cost", "More"], rows);
  for (const index of [1, 2, 3]) head.rows[0].cells[index].className = "wide";
  host.replaceChildren(node("p", "note", note), head);
  if (!latest.alternatives.length) host.append(empty("No other first move was recorded."));
}

function costRow(className, name, terms, more) {
  const parts = [terms.latency, terms.resource, terms.switching].map((term) => cell(cost(term), "wide"));
  return node("tr", className, node("th", "", name), ...parts, cell(cost(total(terms))), cell(more));
}

function table(heads, rows) {
  const head = node("thead", "", node("tr", "", ...heads.map((name) => node("th", "", name))));
  return node("table", "", head, node("tbody", "", ...rows));
}

export function hosts(host, list, live) {
  if (list.length) host.replaceChildren(node("ul", "hosts", ...list.map(hostItem)));
  else if (live) host.replaceChildren(empty("No agents: frequencies stay as they are (agents.urls)."));
  else host.replaceChildren(empty("The journal tells of no agent."));
}

function hostItem(each) {
  const facts = [];
  if (known(each.effective_khz)) {
    const asked = known(each.requested_khz) && each.requested_khz !== each.effective_khz;
    facts.push(gigahertz(each.effective_khz) + (asked ? `, ${gigahertz(each.requested_khz)} asked` : ""));
  }
  if (known(each.power_w)) facts.push(`${watts(each.power_w)} ${each.power_source ?? ""}`.trim());
  if (known(each.executors)) facts.push(`${each.executors} executor${each.executors === 1 ? "" : "s"}`);
  if (known(each.age_s)) facts.push(`read ${duration(each.age_s)} ago`);
  return node(
    "li", MOODS[each.condition] ?? "warn",
    node("p", "", node("span", "dot"), node("strong", "", each.name), node("span", "condition", each.condition)),
    facts.length ? node("p", "note", facts.join(" · ")) : null,
    each.problem ? node("p", "problem", each.problem) : null,
  );
}

export function queries(panel, host, list) {
  panel.hidden = !list.length;
  const rows = list.map((each) => node(
    "tr", "",
    node("th", "", String(each.query ?? MISSING)),
    cell(String(each.activity ?? MISSING)),
    cell(known(each.arrivals_per_s) ? `${number(each.arrivals_per_s)}/s` : MISSING),
    cell(seconds(each.latency_s)),
    cell(number(each.backlog_rows)),
  ));
  host.replaceChildren(table(["Query", "State", "Arrivals", "Latency", "Backlog"], rows));
}

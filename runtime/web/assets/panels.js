// The panels that are text: figures at a glance, decisions, alternatives, agents and queries.
// Text is always set as text, never as markup.

import { html } from "./chart.js";
import {
  FORMATS, MISSING, cost, difference, duration, gigahertz, known, number, place, seconds, short, timeOfDay,
  watts,
} from "./format.js";

const MOST_DECISIONS = 20;
const SIGNS = {
  up: ["▲", "more capacity"],
  down: ["▼", "less capacity"],
  hold: ["=", "held"],
};
const MOODS = {
  controlled: "good", watched: "good", recovered: "good", lost: "bad", "no agent": "bad",
};

const empty = (words) => html("p", "empty", words);
const cell = (text, className = "") => html("td", className, text);
export const total = (terms) => (terms ? terms.latency + terms.resource + terms.switching : null);

// At a glance. What is counted is counted over the time in view.
export function figures(host, data) {
  if (!data.figures.length) host.replaceChildren(empty("No step yet: the first one is due soon."));
  else host.replaceChildren(...data.figures.map((each) => glance(each, data)));
}

function glance(each, data) {
  const format = FORMATS[each.format];
  if (!each.total || !known(each.value)) {
    return figure(each.title, ...split(format(each.value)), each.note, each.mood);
  }
  const [value, spanS] = rise(data, each.total);
  if (!each.share_of) {
    return figure(each.title, ...split(format(value)), `${duration(spanS)}, ${each.note}`);
  }
  const [all] = rise(data, each.share_of);
  const share = all ? `${short((100 * value) / all, 2)} % in view` : "";
  return figure(each.title, format(value), `of ${number(all)}`, share, value ? "bad" : "");
}

// How much a running total rose in view, and over what time.
function rise({ lines, span }, key) {
  const pairs = (lines[key] ?? []).filter((pair) => pair && pair[0] >= span[0]);
  const [first, last] = [pairs[0], pairs[pairs.length - 1]];
  return first ? [last[1] - first[1], last[0] - first[0]] : [0, 0];
}

function figure(name, value, unit, note, mood = "") {
  const shown = html("p", "value", html("strong", "", value), unit ? html("span", "unit", unit) : null);
  return html("div", `figure ${mood}`, html("h3", "", name), shown, html("p", "note", note ?? ""));
}

// "1.2 GHz" as its figure and its unit.
function split(text) {
  const space = text.lastIndexOf(" ");
  return space < 0 ? [text, ""] : [text.slice(0, space), text.slice(space + 1)];
}

export function decisions(host, entries) {
  const newest = [...entries].reverse().slice(0, MOST_DECISIONS);
  host.replaceChildren(...newest.map(decision));
  if (!newest.length) host.append(html("li", "empty", "None yet."));
}

function decision(entry) {
  const { before, requested, wanted } = entry;
  const aim = entry.mode === "advise" ? wanted : requested;
  const more = aim.executors - before.executors || aim.frequency_khz - before.frequency_khz;
  const kind = more > 0 ? "up" : more < 0 ? "down" : "hold";
  const [mark, meaning] = SIGNS[kind];
  const sign = html("span", `sign ${kind}`, mark);
  sign.title = meaning;
  const when = html("time", "", timeOfDay(entry.at_s));
  when.dateTime = new Date(entry.at_s * 1000).toISOString();
  const times = entry.times > 1
    ? html("span", "times", `${number(entry.times)} steps, until ${timeOfDay(entry.last_at_s)}`)
    : null;
  const events = entry.events.map((event) => (
    html("li", `event ${event.severity}`, event.words)
  ));
  return html(
    "li", kind, sign,
    html(
      "div", "",
      html("p", "when", when, times),
      html("p", "words", entry.words),
      events.length ? html("ul", "events", ...events) : null,
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
    rows.push(html("tr", "reason", reason));
  }
  const head = table(["Configuration", "Latency", "Resource", "Switching", "Cost", "More"], rows);
  for (const index of [1, 2, 3]) head.rows[0].cells[index].className = "wide";
  host.replaceChildren(html("p", "note", note), head);
  if (!latest.alternatives.length) host.append(empty("No other first move was recorded."));
}

function costRow(className, name, terms, more) {
  const parts = [terms.latency, terms.resource, terms.switching].map((term) => cell(cost(term), "wide"));
  return html("tr", className, html("th", "", name), ...parts, cell(cost(total(terms))), cell(more));
}

function table(heads, rows) {
  const head = html("thead", "", html("tr", "", ...heads.map((name) => html("th", "", name))));
  return html("table", "", head, html("tbody", "", ...rows));
}

export function hosts(host, list, live) {
  if (list.length) host.replaceChildren(html("ul", "hosts", ...list.map(hostItem)));
  else if (live) host.replaceChildren(empty("No agents: frequencies stay as they are (agents.urls)."));
  else host.replaceChildren(empty("The journal tells of no agent."));
}

function hostItem(each) {
  const facts = [];
  if (known(each.effective_khz)) {
    const asked = known(each.requested_khz) && each.requested_khz !== each.effective_khz;
    facts.push(gigahertz(each.effective_khz) + (asked ? `, ${gigahertz(each.requested_khz)} asked` : ""));
  }
  if (known(each.turbo)) facts.push(`turbo ${each.turbo ? "on" : "off"}`);
  if (known(each.power_w)) facts.push(`${watts(each.power_w)} ${each.power_source ?? ""}`.trim());
  if (known(each.executors)) facts.push(`${each.executors} executor${each.executors === 1 ? "" : "s"}`);
  if (known(each.age_s)) facts.push(`read ${duration(each.age_s)} ago`);
  return html(
    "li", MOODS[each.condition] ?? "warn",
    html("p", "", html("span", "dot"), html("strong", "", each.name), html("span", "condition", each.condition)),
    facts.length ? html("p", "note", facts.join(" · ")) : null,
    each.problem ? html("p", "problem", each.problem) : null,
  );
}

export function queries(panel, host, list) {
  panel.hidden = !list.length;
  const rows = list.map((each) => html(
    "tr", "",
    html("th", "", String(each.query ?? MISSING)),
    cell(String(each.activity ?? MISSING)),
    cell(known(each.arrivals_per_s) ? `${number(each.arrivals_per_s)}/s` : MISSING),
    cell(seconds(each.latency_s)),
    cell(number(each.backlog_rows)),
  ));
  host.replaceChildren(table(["Query", "State", "Arrivals", "Latency", "Backlog"], rows));
}

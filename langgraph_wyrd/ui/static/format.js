// How values read: ages, sizes, statuses.

import {h, plain} from "./dom.js";

const STEPS = [[60, "s", 1], [3600, "min", 60], [86400, "h", 3600], [86400 * 60, "d", 86400], [86400 * 730, "mon", 86400 * 30.4]];

function age(ts) {
  const seconds = (Date.now() - Date.parse(ts)) / 1000;
  if (Number.isNaN(seconds)) return plain(ts);
  if (seconds < 10) return "just now";
  for (const [below, unit, size] of STEPS) {
    if (seconds < below) return `${Math.floor(seconds / size)} ${unit} ago`;
  }
  return `${Math.floor(seconds / 86400 / 365)} y ago`;
}

/** A time as its age, with the whole of it in the title. */
export function when(ts, props = {}) {
  if (!ts) return null;
  const shown = Number.isNaN(Date.parse(ts)) ? ts : new Date(ts).toLocaleString();
  return h("time", {datetime: ts, title: shown, ...props}, age(ts));
}

export function freshenAges() {
  for (const each of document.querySelectorAll("time[datetime]")) {
    const now = age(each.getAttribute("datetime"));
    if (each.textContent !== now) each.textContent = now;
  }
}

export function clock(ts) {
  const at = new Date(ts);
  if (Number.isNaN(at.getTime())) return plain(ts ?? "");
  const today = new Date().toDateString() === at.toDateString();
  const time = at.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", second: "2-digit"});
  return today ? time : `${at.toLocaleDateString()} ${time}`;
}

export function size(n) {
  if (n < 1000) return `${n} B`;
  for (const unit of ["kB", "MB", "GB"]) {
    n /= 1000;
    if (n < 1000) return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${unit}`;
  }
  return `${Math.round(n)} TB`;
}

export const count = (n, one, several = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : several}`;

const TONES = {interrupted: "amber", error: "red", due: "blue", done: "green", idle: "grey"};

export function status(word) {
  const shown = word ?? "not read";
  return h("span", {class: `pill ${TONES[word] ?? "grey"}`}, shown);
}

const KINDS = {
  interrupt: "amber", question: "amber", request: "amber", approval: "amber", error: "red", malformed_call: "red",
  truncated: "red", tool_call: "violet", task: "blue", decision: "blue", promise: "blue", note: "grey",
};

export function kind(word) {
  return h("span", {class: `tag ${KINDS[word] ?? "grey"}`}, String(word ?? "").replaceAll("_", " "));
}

export const short = (id) => (id ? plain(id).slice(0, 18) : "");

/** One line of a value, for a summary. */
export function brief(value, most = 90) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  const line = text.slice(0, most * 4).replace(/\s+/g, " ").trim();
  return line.length > most ? line.slice(0, most - 1) + "…" : line;
}

/** A value to read: text as it is, all else as indented JSON. */
export function value(given) {
  const text = typeof given === "string" ? given : JSON.stringify(given, null, 2) ?? "";
  return h("pre", {class: "value", tabindex: "0", dir: "auto"}, text);
}

/** Text of a message or a question: fenced code and `code` are set apart, all else is text. */
export function prose(text) {
  const box = h("div", {class: "prose", dir: "auto"});
  String(text).split(/^```[^\n]*\n?/m).forEach((part, n) => {
    if (n % 2) box.append(h("pre", {tabindex: "0"}, part.replace(/\n$/, "")));
    else if (part.trim()) {
      const pieces = part.replace(/^\n+|\n+$/g, "").split(/`([^`\n]+)`/);
      box.append(h("p", null, pieces.map((each, at) => (at % 2 ? h("code", null, each) : each))));
    }
  });
  return box;
}

/** A thread's address in this page. */
export function link(id, query = {}, part = "") {
  const asked = new URLSearchParams(Object.entries(query).filter(([, held]) => held));
  const tail = String(asked) ? `?${asked}` : "";
  return `#/thread/${encoded(id)}${part ? `/${part}` : ""}${tail}`;
}

function encoded(text) {
  try {
    return encodeURIComponent(text);
  } catch {
    return encodeURIComponent(plain(text)); // half a surrogate pair: no stored id has one
  }
}

// What differs between two points of a thread.

import {get} from "./api.js";
import {h, replace} from "./dom.js";
import {clock, link} from "./format.js";

const SIGNS = {"+": "added", "-": "removed", "~": "changed", "✓": "done"};

export async function diff(main, parts, query, signal) {
  const id = parts[1];
  const found = await get("thread/history", {id, limit: 200}, signal);
  const head = found.entries.find((each) => each.head)?.checkpoint_id ?? "";
  const a = query.get("a") || found.entries.at(-1)?.checkpoint_id || "";
  const b = query.get("b") || head;
  const go = (one, other) => { location.hash = link(id, {a: one, b: other}, "diff"); };
  const first = choice("From", found.entries, a, (value) => go(value, b));
  const second = choice("To", found.entries, b, (value) => go(a, value));
  const result = h("div", {role: "status"}, h("p", {class: "soft"}, "Comparing…"));
  replace(main, h("section", {class: "narrow"},
    h("p", {class: "crumbs"}, h("a", {href: link(id)}, "‹ ", id)),
    h("h1", null, "Difference"),
    h("div", {class: "points"}, first, second, h("button", {type: "button", onclick: () => go(b, a)}, "Swap")), result));
  const made = await get("thread/diff", {id, a, b}, signal);
  replace(result, h("p", {class: "summary"}, made.empty ? "Nothing differs." : made.summary),
    lines("Working state", made.state_lines), lines("Values", made.value_lines),
    h("p", {class: "soft small"}, h("a", {href: link(id, {at: a})}, "Look at the first"), " · ", h("a", {href: link(id, {at: b === head ? "" : b})}, "Look at the second")));
}

function choice(label, entries, chosen, onchange) {
  const known = entries.some((each) => each.checkpoint_id === chosen);
  const id = `point-${label}`;
  return h("div", {class: "point"}, h("label", {for: id}, label),
    h("select", {id, onchange: (event) => onchange(event.target.value)},
      known ? null : h("option", {value: chosen, selected: true}, chosen),
      entries.map((each) => h("option", {value: each.checkpoint_id, selected: each.checkpoint_id === chosen},
        [each.head && "head", ...each.labels, each.step !== null && `step ${each.step}`, clock(each.ts), each.nodes?.join(", "), each.summary.slice(0, 60)].filter(Boolean).join(" · ")))));
}

function lines(title, given) {
  if (!given.length) return null;
  return h("section", {class: "part"}, h("h2", null, title), h("ul", {class: "changes"}, given.map((line) => {
    const sign = line[0] in SIGNS ? line[0] : "~";
    const text = line[0] in SIGNS ? line.slice(1).trim() : line;
    return h("li", {class: `change ${SIGNS[sign]}`}, h("span", {class: "sign", "aria-label": SIGNS[sign]}, sign), h("span", {dir: "auto"}, text));
  })));
}

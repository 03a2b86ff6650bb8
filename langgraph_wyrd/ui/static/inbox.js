// What waits for a person, in all threads.

import {allowed, get} from "./api.js";
import {answering} from "./answer.js";
import {h, fold, keyed, replace} from "./dom.js";
import {count, kind, link, prose, value, when} from "./format.js";
import {onChange} from "./live.js";

export async function inbox(main, parts, query, signal) {
  let held = [];
  let next = null;
  const list = h("ul", {class: "cards"});
  const said = h("p", {class: "soft", role: "status"});
  const more = h("button", {type: "button", hidden: true, onclick: () => load(next)}, "Show more");

  async function load(after = null) {
    const page = await get("inbox", {limit: 50, after}, signal);
    held = after ? [...held, ...page.entries] : page.entries;
    next = page.next;
    keyed(list, held, (each) => `${each.thread_id}\0${each.loop_id}`, (each) => card(each, load));
    more.hidden = !next;
    if (held.length) replace(said, `${count(held.length, "question")}${next ? ", and more," : ""} for a person`);
    else replace(said);
    empty.hidden = held.length > 0;
  }

  const empty = h("section", {class: "empty", hidden: true}, h("p", {class: "big"}, "Nothing waits for you."),
    h("p", {class: "soft"}, "When an agent asks for a person, its question appears here."),
    h("a", {class: "button", href: "#/threads"}, "All threads"));
  replace(main, h("section", {class: "narrow"}, h("h1", null, "Inbox"), said, list, more, empty));
  signal.addEventListener("abort", onChange(() => load().catch(() => {})));
  await load();
}

function card(entry, reload) {
  const details = entry.value && typeof entry.value === "object" && Object.keys(entry.value).length;
  return h("li", {class: "card waits"},
    h("div", {class: "card-head"}, kind(entry.kind),
      h("a", {href: link(entry.thread_id), class: "id"}, entry.thread_id),
      (entry.agent || entry.node) && h("span", {class: "soft"}, entry.agent || entry.node),
      h("span", {class: "spacer"}), when(entry.since, {class: "soft"})),
    h("div", {class: "question"}, prose(typeof entry.question === "string" ? entry.question : JSON.stringify(entry.question))),
    details ? fold("value", "What was asked, whole", () => value(entry.value)) : null,
    allowed.read_only ? null : answering(entry, reload));
}

// What waits for a person, in all threads.

import {question} from "./answer.js";
import {allowed, get} from "./api.js";
import {h, keyed, replace} from "./dom.js";
import {count} from "./format.js";
import {onChange} from "./live.js";

export async function inbox(main, parts, query, signal) {
  let held = [];
  let next = null;
  const list = h("ul", {class: "cards"});
  const said = h("p", {class: "soft", role: "status"});
  const more = h("button", {type: "button", hidden: true, onclick: () => load(next)}, "Show more");
  const how = {may: !allowed.read_only, done: () => load()};

  async function load(after = null) {
    const page = await get("inbox", {limit: 50, after}, signal);
    held = after ? [...held, ...page.entries] : page.entries;
    next = page.next;
    keyed(list, held, (each) => `${each.thread_id}\0${each.interrupt_id ?? each.loop_id}`, (each) => question(each, how));
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

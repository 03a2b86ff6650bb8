// What waits for a person, in all threads.

import {question} from "./answer.js";
import {allowed, get} from "./api.js";
import {h, keyed, replace, toast} from "./dom.js";
import {count} from "./format.js";
import {onChange} from "./live.js";

const FILTERS = {user: "User", agent: "Agent", assigned_to: "Assigned to"};
const AGES = {"": "any age", 3600: "over an hour", 86400: "over a day", 604800: "over a week"};

export async function inbox(main, parts, query, signal) {
  const chosen = Object.fromEntries([...Object.keys(FILTERS), "older_than"].map((name) => [name, query.get(name) ?? ""]));
  const isFiltered = () => Object.values(chosen).some(Boolean);
  let held = [];
  let next = null;
  const list = h("ul", {class: "cards"});
  const said = h("p", {class: "soft", role: "status"});
  const more = h("button", {type: "button", hidden: true, onclick: () => load(next)}, "Show more");
  const how = {may: !allowed.read_only, done: () => load()};

  let turn = 0;
  async function load(after = null) {
    const mine = ++turn;
    const page = await get("inbox", {...chosen, limit: 25, after}, signal);
    if (mine !== turn) return; // asked for again meanwhile
    held = after ? [...held, ...page.entries] : page.entries;
    next = page.next;
    keyed(list, held, (each) => `${each.thread_id}\0${each.interrupt_id ?? each.loop_id}`, (each) => question(each, how));
    more.hidden = !next;
    if (held.length) replace(said, `${count(held.length, "question")}${next ? ", and more," : ""} for a person`);
    else if (isFiltered()) replace(said, "Nothing that waits fits these filters.");
    else replace(said);
    empty.hidden = held.length > 0 || isFiltered();
    filters.hidden = !empty.hidden && !isFiltered();
  }

  let typing = 0;
  const choose = (name, wait) => (event) => {
    chosen[name] = event.target.value.trim();
    clearTimeout(typing);
    typing = setTimeout(() => {
      const asked = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value));
      history.replaceState(null, "", `#/inbox${String(asked) ? `?${asked}` : ""}`);
      load().catch((error) => toast(error.message, "wrong"));
    }, wait);
  };
  const filters = h("form", {class: "filters", id: "inbox-filters", role: "search", hidden: true, onsubmit: (event) => event.preventDefault()},
    Object.entries(FILTERS).map(([name, words]) => h("input", {
      type: "text", placeholder: words, "aria-label": `Only: ${words.toLowerCase()}`, value: chosen[name], oninput: choose(name, 250),
      autocomplete: "off", spellcheck: "false",
    })),
    h("select", {"aria-label": "Waiting for", onchange: choose("older_than", 0)}, Object.entries(AGES).sort((a, b) => a[0] - b[0])
      .map(([seconds, words]) => h("option", {value: seconds, selected: seconds === chosen.older_than}, words))));

  const empty = h("section", {class: "empty", hidden: true}, h("p", {class: "big"}, "Nothing waits for you."),
    h("p", {class: "soft"}, "When an agent asks for a person, its question appears here."),
    h("a", {class: "button", href: "#/threads"}, "All threads"));
  replace(main, h("section", {class: "narrow"}, h("h1", null, "Inbox"), filters, said, list, more, empty));
  signal.addEventListener("abort", onChange(() => load().catch(() => {})));
  await load();
}

// All threads: search, filters, pages.

import {get} from "./api.js";
import {h, keyed, replace, toast} from "./dom.js";
import {count, link, status, when} from "./format.js";
import {onChange} from "./live.js";

const STATUSES = ["interrupted", "error", "due", "idle", "quiet", "done"];
const SINCE = {"": "any time", 1: "the last hour", 24: "the last day", 168: "the last week"};

export async function threads(main, parts, query, signal) {
  const chosen = {
    text: query.get("text") ?? "", status: query.getAll("status"), user_id: query.get("user_id") ?? "",
    since: query.get("since") ?? "",
  };
  let next = null;
  let held = [];
  const list = h("ul", {class: "list", id: "threads"});
  const said = h("p", {class: "soft", role: "status"});
  const more = h("button", {type: "button", hidden: true, onclick: () => load(next)}, "Show more");

  let turn = 0;
  let deep = false; // whether more than the first page was loaded

  /** `changed`: threads of which it is known that they changed since the pages were loaded. */
  async function load(after = null, changed = new Map()) {
    const mine = ++turn;
    const since = chosen.since && new Date(Date.now() - chosen.since * 3600e3).toISOString();
    const {text, status, user_id} = chosen;
    let page;
    try {
      page = await get("threads", {text, status, user_id, since, after, limit: 50}, signal);
    } catch (error) {
      if (signal.aborted || mine !== turn) return;
      if (error.status !== 400) throw error;
      held = [];
      next = null;
      show();
      replace(said, error.message);
      return;
    }
    if (mine !== turn) return; // asked for again meanwhile
    const fresh = new Set(page.threads.map((each) => each.thread_id));
    const rest = held.filter((each) => !fresh.has(each.thread_id) && !changed.has(each.thread_id));
    if (after) {
      held = [...rest, ...page.threads];
      deep = true;
    } else held = deep ? [...page.threads, ...rest] : page.threads;
    if (after || !deep) next = page.next;
    show();
  }

  function show() {
    keyed(list, held, (each) => each.thread_id, row);
    more.hidden = !next;
    const filtered = chosen.text || chosen.status.length || chosen.user_id || chosen.since;
    if (held.length) replace(said, `${count(held.length, "thread")}${next ? ", and more" : ""}`);
    else if (filtered) replace(said, "No thread fits. ", h("button", {type: "button", class: "quiet", onclick: clear}, "Clear the filters"));
    else replace(said, "There are no threads yet. They appear here as soon as a graph runs with this saver.");
  }

  function filter() {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(chosen)) {
      for (const each of [value].flat()) if (each) asked.append(name, each);
    }
    history.replaceState(null, "", `#/threads${String(asked) ? `?${asked}` : ""}`);
    held = [];
    deep = false;
    return load().catch((error) => toast(error.message, "wrong"));
  }

  function clear() {
    location.hash = "#/threads";
    if (!location.hash.includes("?")) dispatchEvent(new HashChangeEvent("hashchange"));
  }

  let typing = 0;
  const soon = (name) => (event) => {
    chosen[name] = event.target.value.trim();
    clearTimeout(typing);
    typing = setTimeout(filter, 250);
  };
  const chips = STATUSES.map((word) =>
    h("button", {
      type: "button", class: "chip", "aria-pressed": String(chosen.status.includes(word)),
      onclick: (event) => {
        const on = !chosen.status.includes(word);
        chosen.status = on ? [...chosen.status, word] : chosen.status.filter((each) => each !== word);
        event.currentTarget.setAttribute("aria-pressed", String(on));
        filter();
      },
    }, word));
  const search = h("input", {
    id: "search", type: "search", placeholder: "Search messages", "aria-label": "Search messages, titles and reasons",
    value: chosen.text, oninput: soon("text"), autocomplete: "off", spellcheck: "false",
  });
  const users = h("input", {
    type: "text", placeholder: "User", "aria-label": "Only threads of this user", class: "user",
    value: chosen.user_id, oninput: soon("user_id"), autocomplete: "off", spellcheck: "false",
  });
  const since = h("select", {
    "aria-label": "Changed in", onchange: (event) => { chosen.since = event.target.value; filter(); },
  }, Object.entries(SINCE).sort((a, b) => a[0] - b[0]).map(([hours, words]) => h("option", {value: hours, selected: hours === chosen.since}, words)));
  replace(main, h("section", {class: "narrow"}, h("h1", null, "Threads"),
    h("form", {class: "filters", role: "search", onsubmit: (event) => event.preventDefault()},
      search, users, since, h("div", {class: "chips", role: "group", "aria-label": "Status"}, chips)),
    said, list, more));
  if (query.get("search")) search.focus();
  signal.addEventListener("abort", onChange((changed) => load(null, changed).catch(() => {})));
  await load();
}

function row(info) {
  const open = [
    info.open_loops && h("span", {title: "open loops"}, count(info.open_loops, "loop")),
    info.open_todos && h("span", {title: "open todos"}, count(info.open_todos, "todo")),
  ].filter(Boolean);
  return h("li", null, h("a", {class: "thread-row", href: link(info.thread_id)},
    h("span", {class: "cell-status"}, status(info.status)),
    h("span", {class: "cell-main"},
      h("span", {class: "title", dir: "auto"}, info.title || info.thread_id),
      h("span", {class: "under"}, h("code", {class: "id"}, info.thread_id),
        info.user_id && h("span", {class: "user-name"}, info.user_id),
        info.reason && h("span", {class: "reason", dir: "auto"}, info.reason))),
    h("span", {class: "cell-open"}, open),
    h("span", {class: "cell-age"}, when(info.updated_at))));
}

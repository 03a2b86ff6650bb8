// The page: which view a link shows, the token, the count of what waits.

import {allowed, author, get, post} from "./api.js";
import {ask} from "./dialogs.js";
import {h, replace, toast} from "./dom.js";
import {freshenAges} from "./format.js";
import {inbox} from "./inbox.js";
import {listen, onChange, stop} from "./live.js";
import {diff} from "./diff.js";
import {thread} from "./thread.js";
import {threads} from "./threads.js";

const main = document.getElementById("main");
let shown = null; // {path, leave}

function parsed() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map((each) => {
    try {
      return decodeURIComponent(each);
    } catch {
      return each;
    }
  });
  return {path, parts, query: new URLSearchParams(query)};
}

function viewOf(parts) {
  if (parts[0] === "threads") return [threads, "threads", "Threads"];
  if (parts[0] === "thread" && parts[1]) {
    return parts[2] === "diff" ? [diff, "threads", "Difference"] : [thread, "threads", parts[1]];
  }
  return [inbox, "inbox", "Inbox"];
}

async function route() {
  if (!allowed.known) return;
  const {path, parts, query} = parsed();
  const [view, nav, title] = viewOf(parts);
  for (const each of document.querySelectorAll("[data-nav]")) {
    if (each.dataset.nav === nav) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  document.title = `${title} · langgraph-wyrd`;
  const before = shown?.path;
  if (before === path && shown.change?.(query)) return; // the view shows another part of itself
  shown?.leave();
  const leaving = new AbortController();
  const here = {path, leave: () => leaving.abort(), change: null};
  shown = here;
  if (before !== path) scrollTo(0, 0);
  try {
    here.change = await view(main, parts, query, leaving.signal);
    if (before !== undefined && before !== path && !leaving.signal.aborted) main.focus({preventScroll: true});
  } catch (error) {
    if (!leaving.signal.aborted) failed(error);
  }
}

function failed(error) {
  if (error.status === 401) return;
  const again = h("button", {type: "button", onclick: () => { shown = null; route(); }}, "Try again");
  const what = error.status === 404 ? "Not found" : "This could not be shown";
  replace(main, h("section", {class: "empty"}, h("h1", null, what), h("p", null, error.message), again));
  if (!error.status) console.error(error);
}

// ---- the token

function logIn(message) {
  stop();
  const wrong = h("p", {class: "wrong", role: "alert", hidden: !message}, message ?? "");
  const input = h("input", {id: "token", type: "password", autocomplete: "current-password", required: true});
  const form = h("form", null, h("label", {for: "token"}, "Token"), input, wrong,
    h("button", {type: "submit", class: "main"}, "Open"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await post("login", {token: input.value.trim()});
      await start();
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
    }
  });
  replace(main, h("section", {class: "login"}, h("h1", null, "Who is there?"),
    h("p", {class: "soft"}, "Whoever started this inspector has its address with the token in it."), form));
  input.focus();
}

document.addEventListener("wyrd:login", () => {
  if (!allowed.known) return;
  allowed.known = false;
  logIn("The token is not, or no longer, valid.");
});

async function start() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname + "#/inbox");
    await post("login", {token: given}).catch((error) => toast(error.message, "wrong"));
  }
  Object.assign(allowed, await get("about"));
  document.getElementById("read-only").hidden = !allowed.read_only;
  document.getElementById("name").hidden = allowed.read_only || !allowed.known;
  named();
  if (!allowed.known) return logIn();
  await listen();
  countWaiting();
  shown = null;
  await route();
}

// ---- what is around the views

// Counted from the table of open loops: the inbox itself reads each thread that waits.
let counting = 0;
let counted = 0;
function countWaiting() {
  clearTimeout(counting);
  counting = setTimeout(async () => {
    counted = Date.now();
    const found = await get("loops", {kind: ["interrupt", "question"], limit: 100}).catch(() => null);
    const badge = document.getElementById("waiting");
    const many = found?.loops.length ?? 0;
    badge.hidden = !many;
    badge.textContent = found?.next ? "99+" : String(many);
    badge.setAttribute("aria-label", `${badge.textContent} waiting`);
  }, Math.max(200, 1500 - (Date.now() - counted)));
}

function named() {
  const button = document.getElementById("name");
  replace(button, author() ?? "Your name");
}

document.getElementById("name").addEventListener("click", () => ask({
  title: "Your name", about: "It is stored with every answer and every change that you make, as whose word it is.",
  fields: [{name: "name", label: "Name", value: author() ?? "", optional: true}], does: "Keep it",
  run: async ({name}) => { localStorage.setItem("wyrd-by", name.trim().slice(0, 100)); named(); },
}));

const themes = {auto: "light", light: "dark", dark: "auto"};
function theme(name) {
  localStorage.setItem("wyrd-theme", name);
  document.documentElement.dataset.theme = name;
  const button = document.getElementById("theme");
  button.textContent = {auto: "◐", light: "☀", dark: "☾"}[name];
  button.setAttribute("aria-label", `Theme: ${name}. Switch to ${themes[name]}.`);
}

document.getElementById("theme").addEventListener("click", () => theme(themes[document.documentElement.dataset.theme]));
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) start().catch(failed);
  else route();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  event.preventDefault();
  const box = document.getElementById("search");
  if (box) box.focus();
  else location.hash = "#/threads?search=1";
});
onChange(countWaiting);
setInterval(freshenAges, 20000);
theme(themes[localStorage.getItem("wyrd-theme")] ? localStorage.getItem("wyrd-theme") : "auto");
start().catch(failed);

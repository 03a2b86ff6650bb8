// The working state: what waits, the plan, what the agent is after, what it knows.

import {allowed, author, post} from "./api.js";
import {resolving} from "./answer.js";
import {fold, h, toast} from "./dom.js";
import {brief, count, kind, link, status, value, when} from "./format.js";

const FINISHED = ["completed", "cancelled"];
const isOpen = (loop) => !loop.closed_at && !loop.closed_in;

/** `may`: whether it is the head, and may be changed. `done` shows the thread anew. */
export function panel(threadId, state, text, may, done) {
  const loops = state.loops ?? [];
  const open = loops.filter((each) => isOpen(each) && each.confidence !== "heuristic");
  const guessed = loops.filter((each) => isOpen(each) && each.confidence === "heuristic");
  const closed = loops.filter((each) => !isOpen(each)).reverse();
  const todos = state.todos ?? [];
  const aims = (state.intentions ?? []).filter((each) => !each.closed_at && !each.closed_in && each.confidence !== "heuristic");
  open.sort((a, b) => (b.kind === "interrupt") - (a.kind === "interrupt"));
  return h("div", {class: "state"},
    h("p", {class: "standing"}, status(state.status), h("span", {dir: "auto"}, state.reason ?? "")),
    state.due?.length ? h("p", {class: "soft small"}, `next: ${[...new Set(state.due.map((each) => each.node))].join(", ")}`) : null,
    section("Open", open.length, open.length ? h("ul", {class: "items"}, open.map((each) => loop(threadId, each, may, done))) : none("Nothing is open.")),
    section("Todos", todos.length && `${todos.filter((each) => FINISHED.includes(each.status)).length} of ${todos.length} done`,
      todos.length ? plan(threadId, todos, may, done) : none("There is no plan.")),
    section("Intention", null, aims.length ? h("ul", {class: "items"}, aims.map(aim)) : none("None was stated.")),
    section("Context", state.context?.length, state.context?.length ? h("dl", {class: "context"}, state.context.map(item)) : none("Nothing is kept.")),
    guessed.length ? fold("guessed", `${count(guessed.length, "guess", "guesses")} from prose`, () => h("ul", {class: "items"}, guessed.map((each) => loop(threadId, each, may, done)))) : null,
    closed.length ? fold("closed", `Closed lately (${closed.length})`, () => h("ul", {class: "items"}, closed.map(over))) : null,
    text ? fold("brief", "Brief, in words", () => h("div", null, copying(text), value(text))) : null);
}

function section(title, aside, content) {
  return h("section", {class: "part"}, h("h2", null, title, aside ? h("span", {class: "aside"}, aside) : null), content);
}

const none = (text) => h("p", {class: "soft small"}, text);

function seen(threadId, each) {
  const {node, author, checkpoint_id: at} = each.source ?? {};
  return h("span", {class: "seen"},
    [node && `node ${node}`, author && `by ${author}`, each.confidence !== "structural" && each.confidence].filter(Boolean).map((said) => h("span", null, said)),
    at ? h("a", {href: link(threadId, {at}), title: "the checkpoint where it was seen"}, when(each.opened_at) ?? "where") : when(each.opened_at));
}

function loop(threadId, each, may, done) {
  const more = each.context && Object.keys(each.context).length;
  const waits = each.kind === "interrupt";
  return h("li", {class: waits ? "item waits" : "item"},
    h("div", {class: "item-head"}, kind(each.kind), h("span", {class: "spacer"}), may && !waits && resolving(threadId, each, done)),
    h("p", {class: "item-text", dir: "auto"}, each.description), seen(threadId, each),
    more ? fold(`loop-${each.id}`, "Details", () => value(each.context)) : null);
}

function over(each) {
  return h("li", {class: "item over"}, h("div", {class: "item-head"}, kind(each.kind), when(each.closed_at, {class: "soft small"})),
    h("p", {class: "item-text", dir: "auto"}, each.description), each.outcome && h("p", {class: "soft small", dir: "auto"}, each.outcome));
}

function aim(each) {
  return h("li", {class: "item"}, h("p", {class: "item-text", dir: "auto"}, each.text), h("span", {class: "seen"}, h("span", null, each.aim)));
}

function item(each) {
  const flat = typeof each.value !== "object" || each.value === null;
  const short = brief(each.value, 120);
  const whole = flat && String(each.value).length <= 120;
  return h("div", {class: "pair"}, h("dt", {dir: "auto"}, each.key),
    h("dd", {dir: "auto"}, whole ? String(each.value) : fold(`context-${each.id}`, short, () => value(each.value))));
}

function plan(threadId, todos, may, done) {
  return h("ul", {class: "todos"}, todos.map((each) => {
    const finished = FINISHED.includes(each.status);
    const id = `todo-${each.id}`;
    const box = h("input", {type: "checkbox", id, checked: finished, disabled: !may, onchange: async () => {
      box.disabled = true;
      try {
        await post(finished ? "thread/reopen" : "thread/complete", {todo: each.id, by: author()}, {id: threadId});
        await done();
      } catch (error) {
        toast(error.message, "wrong");
        box.checked = finished;
        box.disabled = false;
      }
    }});
    return h("li", {class: `todo ${finished ? "finished" : ""} ${each.status}`}, box,
      h("label", {for: id, dir: "auto"}, each.content),
      each.status === "in_progress" && h("span", {class: "tag blue"}, "now"),
      each.status === "cancelled" && h("span", {class: "tag grey"}, "given up"),
      !["pending", "in_progress", "completed", "cancelled"].includes(each.status) && h("span", {class: "tag grey"}, each.status),
      ["high", "critical"].includes(each.priority) && h("span", {class: "tag red"}, each.priority));
  }));
}

function copying(text) {
  return h("button", {type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      toast("The browser does not allow copying here.", "wrong");
    }
  }}, "Copy");
}

/** What the head bar of a thread says is not allowed here. */
export const mayChange = (at) => !at && !allowed.read_only;

// A conversation: messages, with each tool call and its result in one folded line.

import {get} from "./api.js";
import {fold, h, toast} from "./dom.js";
import {brief, clock, prose, size, value} from "./format.js";

export const CUT = 4000;
const ROLES = {user: "User", assistant: "Assistant", system: "System", tool: "Tool"};

/** Messages as they are shown: results stand with the calls that asked for them. */
export function gathered(messages, start) {
  const results = new Map();
  const asked = new Set(messages.flatMap((each) => (each.tool_calls ?? []).map((call) => call.id)).filter(Boolean));
  messages.forEach((each, n) => {
    if (each.role === "tool" && asked.has(each.tool_call_id)) results.set(each.tool_call_id, {...each, index: start + n});
  });
  return messages.map((each, n) => ({
    ...each,
    index: start + n,
    results: (each.tool_calls ?? []).map((call) => results.get(call.id) ?? null),
  })).filter((each) => !(each.role === "tool" && asked.has(each.tool_call_id)));
}

export function message(threadId, at, each) {
  const role = ROLES[each.role] ?? each.role ?? "Other";
  const head = h("div", {class: "message-head"},
    h("span", {class: "role"}, role), each.name && h("span", {class: "soft"}, each.name),
    each.status === "error" && h("span", {class: "tag red"}, "error"),
    each.pending && h("span", {class: "tag blue", title: "written by a finished task, not yet in a checkpoint"}, "pending"),
    each.in_state === false && h("span", {class: "tag grey", title: "said earlier; no longer in the state"}, "earlier"),
    h("span", {class: "spacer"}),
    each.usage?.total_tokens && h("span", {class: "soft small"}, `${each.usage.total_tokens.toLocaleString("en")} tokens`),
    each.ts && h("time", {class: "soft small", datetime: each.ts}, clock(each.ts)));
  const body = content(each);
  const calls = (each.tool_calls ?? []).map((call, n) => toolCall(threadId, at, call, each.results?.[n] ?? null, n));
  const box = h("article", {class: `message ${role === "Other" ? "other" : each.role}`, "data-index": each.index}, head);
  if (each.role === "system" || (each.role === "tool" && brief(each.content, 400).length > 200)) {
    box.append(fold("text", brief(textOf(each.content), 120), () => h("div", null, body)));
  } else box.append(...body);
  box.append(...calls);
  if (each.cut) box.append(whole(threadId, at, each, box));
  return box;
}

function textOf(given) {
  if (typeof given === "string") return given;
  if (!Array.isArray(given)) return JSON.stringify(given ?? "");
  return given.map((each) => (typeof each === "string" ? each : each?.text ?? "")).join("\n");
}

function content(each) {
  const {content: given} = each;
  if (typeof given === "string") return given.trim() ? [prose(given)] : [];
  if (!Array.isArray(given)) return given === null || given === undefined ? [] : [value(given)];
  return given.map((part, n) => {
    if (typeof part === "string") return prose(part);
    if (typeof part?.text === "string") return prose(part.text);
    if (["tool_use", "tool_call", "function_call"].includes(part?.type) && each.tool_calls?.length) return null;
    const thought = part?.thinking ?? part?.reasoning;
    if (typeof thought === "string") return fold(`part${n}`, `thinking: ${brief(thought, 80)}`, () => prose(thought));
    return fold(`part${n}`, String(part?.type ?? "part"), () => value(part));
  }).filter(Boolean);
}

function toolCall(threadId, at, call, result, n) {
  const args = call.args && typeof call.args === "object"
    ? Object.entries(call.args).map(([name, held]) => `${name}: ${brief(held, 60)}`).join(", ")
    : brief(call.args ?? "");
  const ended = !result ? h("span", {class: "tag amber"}, "no result")
    : result.status === "error" ? h("span", {class: "tag red"}, "error")
    : h("span", {class: "soft small"}, size(textOf(result.content).length));
  const line = h("span", {class: "call-line"},
    h("span", {class: "call-name"}, call.name || "(no name)"),
    h("span", {class: "call-args"}, brief(args, 160)), ended);
  return fold(`call${n}`, line, () => h("div", null,
    h("p", {class: "label"}, "Arguments"), value(call.args ?? null),
    h("p", {class: "label"}, "Result"),
    result ? h("div", null, content(result), result.cut && whole(threadId, at, result)) : h("p", {class: "soft"}, "None was recorded: look whether it was done before it is done again.")),
    {class: "call"});
}

/** A message that the server shortened, whole: it may be very large. */
function whole(threadId, at, each, box) {
  const button = h("button", {type: "button", class: "quiet", onclick: async () => {
    button.disabled = true;
    try {
      const found = await get("thread/messages", {id: threadId, at, before: each.index + 1, limit: 1, cut: 100000});
      const one = {...found.messages[0], index: each.index, results: each.results};
      const still = one.cut;
      one.cut = false;
      const made = h("div", null, content(one).length ? content(one) : value(one),
        still && h("p", {class: "soft"}, "Still shortened: export the thread to read all of it."));
      if (box) box.replaceChildren(box.firstChild, made);
      else button.parentElement.replaceChildren(made);
    } catch (error) {
      toast(error.message, "wrong");
      button.disabled = false;
    }
  }}, "Show more of it");
  return button;
}

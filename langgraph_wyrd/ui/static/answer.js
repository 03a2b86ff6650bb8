// Answering what waits for a person: in words, as JSON, or by deciding on each action.

import {author, post} from "./api.js";
import {ask} from "./dialogs.js";
import {fold, h, replace, toast} from "./dom.js";
import {brief, kind, link, prose, value, when} from "./format.js";

const WORDS = {
  approve: "Approve", accept: "Accept", edit: "Edit…", reject: "Reject…", ignore: "Ignore", respond: "Respond…",
  response: "Respond…", decline: "Decline", cancel: "Cancel",
};
const YES = ["approve", "accept"];

/** A question as a card, with what it takes to answer it. `inThread`: its thread is shown already. */
export function question(entry, {may, done, inThread = false}) {
  const asked = entry.value && typeof entry.value === "object" && Object.keys(entry.value).length && !entry.actions?.length;
  return h(inThread ? "article" : "li", {class: "card waits"},
    h("div", {class: "card-head"}, kind(entry.kind),
      inThread ? null : h("a", {href: link(entry.thread_id), class: "id"}, entry.thread_id),
      (entry.agent || entry.node) && h("span", {class: "soft"}, entry.agent || entry.node),
      entry.user_id && !inThread && h("span", {class: "soft user-name"}, entry.user_id),
      entry.assigned_to && h("span", {class: "tag blue"}, `for ${entry.assigned_to}`),
      h("span", {class: "spacer"}), when(entry.since, {class: "soft"})),
    h("div", {class: "question"}, entry.form !== "elicitation" && entry.actions?.length
      ? `May ${entry.agent || "the agent"} do ${entry.actions.length === 1 ? "this" : `these ${entry.actions.length} things`}?`
      : prose(String(entry.question))),
    asked ? fold("value", "What was asked, whole", () => value(entry.value)) : null,
    entry.expires_at && h("p", {class: "soft small"}, "Can be answered until ", new Date(entry.expires_at).toLocaleString(), "."),
    may ? form(entry, done) : entry.actions?.length ? entry.actions.map((each) => action(each)) : null);
}

function form(entry, done) {
  if (entry.kind === "question") {
    return h("div", {class: "answer-row"}, h("span", {class: "soft"}, "Asked in a message: the next message to the agent answers it."),
      h("span", {class: "spacer"}), resolving(entry.thread_id, {id: entry.loop_id, description: entry.question}, done));
  }
  if (entry.actions?.length) return deciding(entry, done);
  return answering(entry, done);
}

async function send(entry, answer, done) {
  const loop = entry.interrupt_id ?? entry.loop_id ?? undefined;
  await post("thread/answer", {value: answer, loop, by: author()}, {id: entry.thread_id});
  toast("Answered: the next run goes on with it.");
  await done?.();
}

/** What a person typed: JSON where it is meant as such, else text. */
function typed(text, json) {
  if (!json) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${error.message}`);
  }
}

// ---- any answer

function answering(entry, done) {
  const id = `answer-${entry.interrupt_id ?? entry.loop_id}`;
  const schema = entry.schema;
  const text = h("textarea", {id, rows: "1", placeholder: "Answer", "aria-label": "Answer", required: true, dir: "auto"});
  const json = h("input", {type: "checkbox", id: `${id}-json`, checked: Boolean(schema) && schema.type !== "string"});
  const wrong = h("p", {class: "wrong", role: "alert", hidden: true});
  const go = h("button", {type: "submit", class: "main"}, "Answer");
  const made = h("form", {class: "answer"},
    entry.allowed?.length ? h("div", {class: "answer-row"}, entry.allowed.map((each) =>
      h("button", {type: "button", onclick: () => send(entry, each, done).catch(refused(wrong))}, WORDS[each] ?? each))) : null,
    text, h("div", {class: "answer-row"}, h("span", {class: "check"}, json, h("label", {for: `${id}-json`}, "as JSON")),
      h("span", {class: "spacer"}), go),
    schema ? fold("schema", "What it must look like", () => value(schema)) : null, wrong);
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) made.requestSubmit();
  });
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    wrong.hidden = true;
    try {
      await send(entry, typed(text.value, json.checked), done);
    } catch (error) {
      refused(wrong)(error);
    } finally {
      go.disabled = false;
    }
  });
  return made;
}

const refused = (box) => (error) => {
  box.textContent = error.message;
  box.hidden = false;
};

// ---- decisions about actions

function action(each, buttons) {
  const args = each.args && typeof each.args === "object" ? Object.entries(each.args).map(([name, held]) => `${name}: ${brief(held, 60)}`).join(", ") : brief(each.args ?? "");
  return h("div", {class: "action"},
    fold(`action-${each.name}`, h("span", {class: "call-line"}, h("span", {class: "call-name"}, each.name), h("span", {class: "call-args"}, brief(args, 160))),
      () => h("div", null, described(each), value(each.args ?? null)), {class: "call", open: true}),
    buttons);
}

/** What is said of an action; langchain's own words for it only repeat its name and arguments. */
function described({description}) {
  const said = (description ?? "").split(/\n\nTool: .*\nArgs: /)[0];
  return said && said !== "Tool execution requires approval" ? prose(said) : null;
}

/** One action is decided at once; several are decided one by one, and sent together. */
function deciding(entry, done) {
  const wrong = h("p", {class: "wrong", role: "alert", hidden: true});
  const alone = entry.actions.length === 1;
  const decided = entry.actions.map(() => null);
  const go = h("button", {type: "button", class: "main", disabled: true, onclick: () => finish().catch(refused(wrong))}, "Send the decisions");

  function finish() {
    return send(entry, whole(entry, decided), done);
  }

  const rows = entry.actions.map((each, n) => {
    const said = h("span", {class: "soft small", role: "status"});
    const choose = async (decision) => {
      decided[n] = decision;
      if (alone) return finish();
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.word === decision.type));
      replace(said, decision.message ? `“${brief(decision.message, 60)}”` : "");
      go.disabled = decided.includes(null);
    };
    const buttons = (each.allowed ?? []).map((word) => h("button", {
      type: "button", "data-word": word, "aria-pressed": alone ? null : "false", class: alone && YES.includes(word) ? "main" : null, onclick: () => decide(each, word, choose, wrong),
    }, WORDS[word] ?? word));
    return action(each, h("div", {class: "answer-row", role: "group", "aria-label": `Decide on ${each.name}`}, buttons, said));
  });
  return h("div", {class: "answer"}, rows, alone ? null : h("div", {class: "answer-row"}, h("span", {class: "spacer"}), go), wrong);
}

function whole(entry, decided) {
  if (entry.form !== "elicitation") return decided;
  const answers = decided.map(({type, content}) => (content === undefined ? {action: type} : {action: type, content}));
  return {responses: Object.fromEntries(entry.actions.map((each, n) => [each.name, answers[n]]))};
}

function decide(each, word, choose, wrong) {
  const plain = {type: word};
  if (word === "edit") {
    return ask({
      title: `Edit ${each.name}`, fields: [{name: "args", label: "Arguments, as JSON", type: "area", value: JSON.stringify(each.args ?? {}, null, 2)}],
      does: "Use these", run: ({args}) => choose({type: word, edited_action: {name: each.name, args: typed(args, true)}}),
    });
  }
  if (["respond", "response"].includes(word)) {
    return ask({
      title: `Respond to ${each.name}`, about: "The agent gets this text in place of the tool's result.",
      fields: [{name: "message", label: "Text", type: "area"}], does: "Respond", run: ({message}) => choose({type: word, message}),
    });
  }
  if (word === "reject") {
    return ask({
      title: `Reject ${each.name}`, fields: [{name: "message", label: "Why, for the agent", type: "area", optional: true}],
      does: "Reject", run: ({message}) => choose(message.trim() ? {type: word, message} : plain),
    });
  }
  if (word === "accept" && each.args && typeof each.args === "object" && each.args.type === "object") {
    return ask({
      title: `Accept ${each.name}`, about: brief(each.description ?? "", 300), fields: [{name: "content", label: "What it asks for, as JSON", type: "area", value: "{}"}],
      does: "Accept", run: ({content}) => choose({type: word, content: typed(content, true)}),
    });
  }
  return choose(plain).catch(refused(wrong));
}

// ---- loops that a person closes

export function resolving(threadId, loop, done) {
  return h("button", {type: "button", class: "quiet", onclick: () => ask({
    title: "Resolve this loop",
    about: loop.description.slice(0, 300),
    fields: [{name: "outcome", label: "How it ended", optional: true}],
    does: "Resolve",
    run: async ({outcome}) => {
      await post("thread/resolve", {loop: loop.id, outcome: outcome.trim() || undefined, by: author()}, {id: threadId});
      await done();
    },
    done: "Resolved.",
  })}, "Resolve");
}

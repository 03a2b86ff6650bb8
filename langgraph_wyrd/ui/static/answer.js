// Answering what waits for a person.

import {author, post} from "./api.js";
import {h, toast} from "./dom.js";
import {ask} from "./dialogs.js";

async function send(entry, value, done) {
  await post("thread/answer", {value, loop: entry.loop_id ?? undefined, by: author()}, {id: entry.thread_id});
  toast("Answered: the next run goes on with it.");
  await done?.();
}

/** What a person typed: JSON where it is meant as such, else text. */
export function typed(text, json) {
  if (!json) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`This is no JSON: ${error.message}`);
  }
}

export function answering(entry, done) {
  const id = `answer-${entry.loop_id}`;
  const text = h("textarea", {id, rows: "1", placeholder: "Answer", "aria-label": "Answer", required: true, dir: "auto"});
  const json = h("input", {type: "checkbox", id: `${id}-json`});
  const wrong = h("p", {class: "wrong", role: "alert", hidden: true});
  const go = h("button", {type: "submit", class: "main"}, "Answer");
  const form = h("form", {class: "answer"}, text,
    h("div", {class: "answer-row"}, h("span", {class: "check"}, json, h("label", {for: `${id}-json`}, "as JSON")),
      h("span", {class: "spacer"}), go), wrong);
  text.addEventListener("input", () => {
    text.rows = Math.min(8, Math.max(1, text.value.split("\n").length));
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    wrong.hidden = true;
    try {
      await send(entry, typed(text.value, json.checked), done);
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
    } finally {
      go.disabled = false;
    }
  });
  return form;
}

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

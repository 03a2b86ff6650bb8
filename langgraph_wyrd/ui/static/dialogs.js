// Dialogs that ask before something is changed.

import {h, toast} from "./dom.js";

/**
 * Ask for some values, then run: the dialog stays open, and says why, while that fails.
 * fields: [{name, label, value, hint, type: "text" | "area" | "check", optional}]
 */
export function ask({title, about, fields = [], does, run, done}) {
  const inputs = new Map();
  const wrong = h("p", {class: "wrong", role: "alert", hidden: true});
  const rows = fields.map((field) => {
    const id = `ask-${field.name}`;
    const common = {id, name: field.name, autocomplete: "off", spellcheck: "false"};
    const hint = field.hint && h("small", {id: `${id}-hint`}, field.hint);
    if (hint) common["aria-describedby"] = `${id}-hint`;
    if (field.type === "check") {
      const box = h("input", {...common, type: "checkbox", checked: !!field.value});
      inputs.set(field.name, () => box.checked);
      return h("div", {class: "row check"}, box, h("label", {for: id}, field.label), hint);
    }
    const input = field.type === "area"
      ? h("textarea", {...common, rows: "5", value: field.value ?? "", required: !field.optional})
      : h("input", {...common, type: "text", value: field.value ?? "", required: !field.optional});
    inputs.set(field.name, () => input.value);
    return h("div", {class: "row"}, h("label", {for: id}, field.label), input, hint);
  });
  const go = h("button", {type: "submit", class: "main"}, does);
  const stop = h("button", {type: "button", onclick: () => box.close()}, "Cancel");
  const form = h("form", {method: "dialog"},
    h("h2", {id: "ask-title"}, title), about && h("p", {class: "soft"}, about), rows, wrong,
    h("div", {class: "buttons"}, stop, go));
  const box = h("dialog", {"aria-labelledby": "ask-title"}, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    wrong.hidden = true;
    try {
      const given = Object.fromEntries([...inputs].map(([name, read]) => [name, read()]));
      const made = await run(given);
      box.close();
      if (done) toast(typeof done === "function" ? done(made) : done);
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
    } finally {
      go.disabled = false;
    }
  });
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

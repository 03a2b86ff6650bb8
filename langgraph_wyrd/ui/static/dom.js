// Building the page. Data becomes text nodes and attributes only: nothing here parses markup.

// Control characters, marks that change the direction of writing, and what hides text. Joiners stay:
// words and emoji need them.
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;

function spelt(found) {
  const code = found.codePointAt(0);
  if (code < 0x100) return "\\x" + code.toString(16).padStart(2, "0");
  if (code < 0x10000) return "\\u" + code.toString(16).padStart(4, "0");
  return "\\U" + code.toString(16).padStart(8, "0");
}

/** A string with what can't be seen spelt out, for attributes and titles. */
export function plain(text) {
  return String(text).replaceAll("\r\n", "\n").replace(UNSEEN, spelt);
}

/** The same as nodes, where the spelt characters are marked. */
export function words(text) {
  text = String(text).replaceAll("\r\n", "\n");
  const found = [];
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (match.index > from) found.push(document.createTextNode(text.slice(from, match.index)));
    const mark = document.createElement("span");
    mark.className = "unseen";
    mark.textContent = spelt(match[0]);
    found.push(mark);
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push(document.createTextNode(text.slice(from)));
  return found;
}

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked" || name === "disabled" || name === "open") element[name] = value;
    else element.setAttribute(name, value === true ? "" : plain(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else element.append(...words(child));
  }
}

/** An element: `h("a", {href, class: "x", onclick}, "text", node, [more])`. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Show a list in `parent`: what did not change keeps its element, with its focus and what is typed. */
export function keyed(parent, items, keyOf, build) {
  const old = new Map();
  for (const element of [...parent.children]) old.set(element.wyrdKey, element);
  const used = new Map();
  let place = parent.firstElementChild;
  for (const item of items) {
    let key = String(keyOf(item));
    const times = used.get(key) ?? 0;
    used.set(key, times + 1);
    if (times) key += "\0" + times;
    const print = JSON.stringify(item);
    let element = old.get(key);
    old.delete(key);
    if (!element || element.wyrdPrint !== print) {
      const made = build(item);
      made.wyrdKey = key;
      made.wyrdPrint = print;
      if (element) {
        keepOpen(element, made);
        if (place === element) place = element.nextElementSibling;
        element.remove();
      }
      element = made;
      parent.insertBefore(element, place);
    } else if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
  for (const element of old.values()) element.remove();
}

/** What a person unfolded stays unfolded when its element is made anew. */
export function keepOpen(from, to) {
  const open = new Set();
  for (const each of from.querySelectorAll("details[data-fold][open]")) open.add(each.dataset.fold);
  for (const each of to.querySelectorAll("details[data-fold]")) {
    if (open.has(each.dataset.fold)) each.open = true;
  }
}

/** A folded part. Its content is made when it is first opened. */
export function fold(name, summary, content, props = {}) {
  const body = h("div", {class: "fold-body"});
  let made = false;
  const details = h("details", {"data-fold": name, class: props.class}, h("summary", null, summary), body);
  const make = () => {
    if (made || !details.open) return;
    made = true;
    append(body, [content()]);
  };
  details.addEventListener("toggle", make);
  if (props.open) {
    details.open = true;
    make();
  }
  return details;
}

/** Say something to everybody, a screen reader included. */
export function toast(text, kind = "fine") {
  const box = document.getElementById("toasts");
  const said = h("p", {class: `toast ${kind}`}, text);
  box.append(said);
  setTimeout(() => said.remove(), kind === "wrong" ? 10000 : 6000);
}

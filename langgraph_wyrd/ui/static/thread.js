// One thread: its conversation, its working state, its timeline; now, or at any checkpoint.

import {question} from "./answer.js";
import {address, allowed, get, post} from "./api.js";
import {ask} from "./dialogs.js";
import {fold, h, keepOpen, keyed, replace, toast} from "./dom.js";
import {clock, kind, link, prose, short, status, value, when} from "./format.js";
import {onChange} from "./live.js";
import {CUT, gathered, message} from "./messages.js";
import {mayChange, panel} from "./state.js";
import {laidOut, timelineRow} from "./timeline.js";

const TABS = {messages: "Messages", state: "State", timeline: "Timeline"};
const PAGE = 100;

/** Failures that nobody has got over. */
const failures = (state) => (state.loops ?? []).filter((each) =>
  each.kind === "error" && !each.closed_at && !each.closed_in && each.confidence !== "heuristic");

export async function thread(main, parts, query, signal) {
  const id = parts[1];
  let at = query.get("at") ?? "";
  let about = null; // the thread as it stands
  let here = null; // the state that is shown
  let said = {messages: [], start: 0, total: 0};
  let asked = []; // its entries of the inbox
  let moments = [];
  let older = true;

  // ---- what is always there

  const title = h("h1", {dir: "auto"}, id);
  const under = h("p", {class: "under"});
  const actions = h("div", {class: "actions"});
  const banner = h("div", {class: "banners"});
  const earlier = h("button", {type: "button", hidden: true, onclick: () => earlierMessages().catch(tell)}, "Show earlier messages");
  const list = h("div", {class: "messages", id: "messages"});
  const waits = h("div", {class: "messages waiting"}); // what the thread waits for, or failed with
  const talk = h("section", {class: "pane talk", tabindex: "0", "aria-label": "Messages"}, h("p", {class: "center"}, earlier), list, waits);
  const state = h("section", {class: "pane side state-pane", tabindex: "0", "aria-label": "Working state"});
  const rows = h("ol", {class: "moments"});
  const more = h("button", {type: "button", hidden: true, onclick: () => olderMoments().catch(tell)}, "Show older checkpoints");
  const past = h("section", {class: "pane side timeline-pane", tabindex: "0", "aria-label": "Timeline"}, rows, h("p", {class: "center"}, more));
  const tabs = h("nav", {class: "tabs", "aria-label": "Parts of the thread"});
  const whole = h("div", {class: "thread"},
    h("div", {class: "thread-head"},
      h("p", {class: "crumbs"}, h("a", {href: "#/threads"}, "‹ Threads")),
      h("div", {class: "thread-title"}, title, actions), under),
    banner, tabs, h("div", {class: "panes"}, talk, state, past));
  show(query.get("tab"));

  function show(tab) {
    const chosen = tab in TABS ? tab : "messages";
    whole.dataset.tab = chosen;
    keyed(tabs, Object.entries(TABS).map(([name, words]) => ({name, words, at, here: name === chosen})), (each) => each.name,
      (each) => h("a", {href: link(id, {at: each.at, tab: each.name}), class: `tab tab-${each.name}`, "aria-current": each.here ? "true" : null}, each.words));
  }

  const tell = (error) => { if (!signal.aborted) toast(error.message, "wrong"); };

  // ---- reading

  let turn = 0;
  async function load() {
    const mine = ++turn;
    const limit = Math.max(PAGE, said.total - said.start || 0);
    const [whole, now, history, talked, inbox] = await Promise.all([
      get("thread", {id}, signal),
      at ? get("thread/state", {id, at}, signal) : null,
      get("thread/history", {id, limit: 60}, signal),
      get("thread/messages", {id, at, limit, cut: CUT}, signal),
      get("inbox", {thread_id: id, limit: 50}, signal),
    ]);
    if (mine !== turn) return; // asked for again meanwhile, perhaps at another point
    asked = inbox.entries;
    about = whole;
    here = now ?? whole;
    said = talked;
    const known = new Set(history.entries.map((each) => each.checkpoint_id));
    const rest = moments.filter((each) => !known.has(each.checkpoint_id));
    if (!moments.length) older = history.entries.length === 60;
    moments = [...history.entries, ...rest.map((each) => ({...each, head: false}))];
    render();
  }

  function render() {
    replace(title, about.state.title || id);
    replace(under, status(about.state.status), h("code", {class: "id"}, id), when(about.state.ts, {class: "soft"}));
    document.title = `${about.state.title || id} · langgraph-wyrd`;
    replace(actions, ...buttons());
    replace(banner, ...banners());
    const low = nearEnd();
    keyed(list, gathered(said.messages, said.start), (each) => each.id ?? `#${each.index}`, (each) => message(id, at, each));
    if (!said.messages.length) replace(list, h("p", {class: "soft empty-note"}, at ? "Nothing was said by then." : "Nothing has been said in this thread."));
    keyed(waits, at ? [] : [...asked, ...failures(here.state)], (each) => each.interrupt_id ?? each.loop_id ?? each.id, waiting);
    earlier.hidden = said.start === 0;
    earlier.textContent = `Show earlier messages (${said.start.toLocaleString("en")})`;
    if (low) toEnd();
    const focused = state.contains(document.activeElement) ? document.activeElement : null;
    if (!focused?.matches("textarea, input[type=text]")) {
      const made = panel(id, here.state, here.brief, mayChange(at), load);
      if (state.firstElementChild) keepOpen(state, made);
      replace(state, made);
      if (focused?.id) document.getElementById(focused.id)?.focus();
    }
    drawTimeline();
  }

  function drawTimeline() {
    const laid = laidOut(moments);
    const most = Math.max(1, ...laid.map((each) => Math.max(each.lane, ...each.passing, ...each.joined) + 1));
    keyed(rows, laid, (each) => each.checkpoint_id, timelineRow(id, at && here.state.checkpoint_id, most));
    for (const each of rows.children) each.classList.toggle("here", each.querySelector("[aria-current]") !== null);
    more.hidden = !older;
  }

  async function earlierMessages() {
    const height = scroller().scrollHeight;
    const found = await get("thread/messages", {id, at, before: said.start, limit: 2 * PAGE, cut: CUT}, signal);
    said = {...said, start: found.start, messages: [...found.messages, ...said.messages]};
    render();
    scroller().scrollTop += scroller().scrollHeight - height;
  }

  async function olderMoments() {
    const found = await get("thread/history", {id, limit: 100, before: moments.at(-1).checkpoint_id}, signal);
    older = found.entries.length === 100;
    moments = [...moments, ...found.entries];
    drawTimeline();
  }

  // ---- where it is scrolled to: on a wide page the pane scrolls, else the page

  const scroller = () => (getComputedStyle(talk).overflowY === "auto" ? talk : document.scrollingElement);
  function nearEnd() {
    const box = scroller();
    return box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  }
  function toEnd() {
    if (whole.dataset.tab !== "messages" && scroller() !== talk) return;
    scroller().scrollTop = scroller().scrollHeight;
  }

  // ---- what can be done

  function waiting(each) {
    if (each.question !== undefined) return question(each, {may: !allowed.read_only, done: load, inThread: true});
    const more = each.context && Object.keys(each.context).length;
    return h("article", {class: "card failed"},
      h("div", {class: "card-head"}, kind(each.kind), each.source?.node && h("span", {class: "soft"}, each.source.node),
        h("span", {class: "spacer"}), when(each.opened_at, {class: "soft"})),
      prose(each.description), more ? fold(`failed-${each.id}`, "Details", () => value(each.context)) : null);
  }

  function buttons() {
    const point = at ? here.state.checkpoint_id : undefined;
    const found = [
      h("a", {class: "button", href: link(id, {a: point ?? moments[0]?.parent_id, b: ""}, "diff")}, at ? "Compare with the head" : "Compare"),
      h("a", {class: "button", href: address("thread/export", {id}), download: "thread.json"}, "Export"),
    ];
    if (allowed.read_only) return found;
    const mine = at ? "this checkpoint" : "the head";
    found.unshift(
      act("Label", {
        title: `Label ${mine}`, about: "A labelled checkpoint is never pruned, and its name works wherever a checkpoint's id does.",
        fields: [{name: "name", label: "Name"}], does: "Label",
        run: async ({name}) => { await post("thread/label", {name, at: point}, {id}); await load(); }, done: "Labelled.",
      }),
      act("Fork", {
        title: `Fork from ${mine}`, about: "A new thread with the same past up to here. This one stays as it is.",
        fields: [{name: "to", label: "Id of the new thread", value: `${id}-fork`}], does: "Fork",
        run: async ({to}) => { const made = await post("thread/fork", {new_thread_id: to, at: point}, {id}); location.hash = link(made.thread_id); },
        done: "Forked.",
      }));
    if (at) {
      found.unshift(act("Rewind to here", {
        title: "Rewind to this checkpoint", about: "The thread goes on from here. Nothing is deleted: what came after stays in the timeline, as a branch.",
        does: "Rewind",
        run: async () => { await post("thread/rewind", {to: point}, {id}); location.hash = link(id); }, done: "Rewound.",
      }));
    }
    return found;
  }

  const act = (words, dialog) => h("button", {type: "button", onclick: () => ask(dialog)}, words);

  function banners() {
    const found = [];
    if (at) {
      const entry = moments.find((each) => each.checkpoint_id === here.state.checkpoint_id);
      const labels = about.labels.filter((each) => each.checkpoint_id === here.state.checkpoint_id);
      found.push(h("div", {class: "banner past"}, h("strong", null, "The past: "), h("code", null, short(here.state.checkpoint_id)), " ",
        h("span", null, clock(here.state.ts)), entry?.step != null && h("span", {class: "soft"}, ` step ${entry.step}`), " ",
        labels.map((each) => h("span", {class: "tag violet"}, each.name)), h("span", {class: "spacer"}),
        h("a", {href: link(id, {tab: whole.dataset.tab})}, "Back to the head")));
    }
    const damage = about.heals.filter((each) => !each.acknowledged_at);
    if (damage.length) {
      found.push(h("details", {class: "banner damage"}, h("summary", null, `Damage was found in this thread (${damage.length})`),
        h("ul", null, damage.map((each) => h("li", null, `${each.kind}: ${each.what}`)))));
    }
    return found;
  }

  // ---- life

  signal.addEventListener("abort", onChange((changed) => {
    if (!changed.size || changed.has(id)) load().catch(tell);
  }));
  signal.addEventListener("abort", () => document.body.classList.remove("in-thread"));
  document.body.classList.add("in-thread");
  await load();
  replace(main, whole);
  toEnd();

  return (next) => {
    const moved = (next.get("at") ?? "") !== at;
    at = next.get("at") ?? "";
    show(next.get("tab"));
    if (moved) {
      said = {messages: [], start: 0, total: 0};
      load().then(toEnd, tell);
    } else toEnd();
    return true;
  };
}

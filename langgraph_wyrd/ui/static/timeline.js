// A thread's checkpoints, newest first, with a lane for each fork.

import {h, svg} from "./dom.js";
import {clock, link, when} from "./format.js";

const HIGH = 54;

/** Which lane each checkpoint stands in: a parent stands below its children. */
export function laidOut(entries) {
  const waiting = []; // what each lane leads down to
  return entries.map((entry) => {
    const into = waiting.flatMap((wanted, lane) => (wanted === entry.checkpoint_id ? [lane] : []));
    let lane = into[0];
    if (lane === undefined) {
      lane = waiting.indexOf(null);
      if (lane < 0) lane = waiting.push(null) - 1;
    }
    for (const each of into.slice(1)) waiting[each] = null;
    const passing = waiting.flatMap((wanted, n) => (wanted !== null && n !== lane ? [n] : []));
    waiting[lane] = entry.parent_id ?? null;
    while (waiting.length && waiting.at(-1) === null) waiting.pop();
    return {...entry, lane, passing, joined: into.slice(1), above: into.length > 0, below: entry.parent_id !== null};
  });
}

export function timelineRow(threadId, current, most) {
  const step = Math.min(16, 96 / Math.max(1, most));
  const x = (lane) => 10 + lane * step;
  return (each) => {
    const {lane} = each;
    const paths = [];
    for (const n of each.passing) if (!each.joined.includes(n)) paths.push(`M${x(n)} 0V${HIGH}`);
    for (const n of each.joined) paths.push(`M${x(n)} 0C${x(n)} 14 ${x(lane)} 10 ${x(lane)} 22`);
    if (each.above) paths.push(`M${x(lane)} 0V22`);
    if (each.below) paths.push(`M${x(lane)} 22V${HIGH}`);
    const width = x(most - 1) + 10;
    const drawn = svg("svg", {class: "lanes", width, height: HIGH, viewBox: `0 0 ${width} ${HIGH}`, "aria-hidden": "true"},
      svg("path", {d: paths.join("")}), svg("circle", {cx: x(lane), cy: 22, r: 5, class: each.head ? "head" : ""}));
    const here = current ? each.checkpoint_id === current : each.head;
    const title = each.summary || each.source || "checkpoint";
    return h("li", {class: here ? "moment here" : "moment"}, drawn,
      h("a", {class: "moment-link", href: link(threadId, {at: each.head ? "" : each.checkpoint_id, tab: "timeline"}), "aria-current": here ? "true" : null, title: `${each.checkpoint_id}\n${clock(each.ts)}\n${title}`},
        h("span", {class: "moment-line"}, each.labels.map((name) => h("span", {class: "tag violet"}, name)), each.head && h("span", {class: "tag green"}, "head"),
          h("span", {class: "moment-text", dir: "auto"}, title)),
        h("span", {class: "moment-under"}, [each.nodes?.length ? each.nodes.join(", ") : each.source, each.step !== null && `step ${each.step}`].filter(Boolean).join(" · "), " · ", when(each.ts))),
      each.parent_id && h("a", {class: "quiet small diff-link", href: link(threadId, {a: each.parent_id, b: each.checkpoint_id}, "diff"), "aria-label": `diff: what changed in ${title.slice(0, 120)}`}, "diff"));
  };
}

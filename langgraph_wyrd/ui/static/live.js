// Live updates. A hidden tab listens to nothing: a browser opens only six connections to a host.

import {address} from "./api.js";

let source = null;
let retry = 0;
const listeners = new Set();

/** Be told of threads that changed; an empty set says that anything may have. */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const gathered = new Map();
let timer = 0;

function tell(info) {
  if (info) gathered.set(info.thread_id, info);
  clearTimeout(timer);
  timer = setTimeout(() => {
    const some = new Map(gathered);
    gathered.clear();
    for (const each of [...listeners]) each(some);
  }, 150);
}

function show(word, tone) {
  const box = document.getElementById("live");
  box.className = `live ${tone}`;
  box.querySelector(".word").textContent = word;
}

/** Resolves when changes are listened to, so that what is read after it misses none; or after a second. */
export function listen() {
  stop();
  source = new EventSource(address("events"));
  let before = false;
  const ready = new Promise((resolve) => {
    source.addEventListener("ready", () => {
      show("live", "on");
      if (before) tell(null); // it was away: anything may have changed
      before = true;
      resolve();
    });
    setTimeout(resolve, 1000);
  });
  source.addEventListener("thread", (event) => tell(JSON.parse(event.data)));
  source.addEventListener("trouble", () => show("database away", "off"));
  source.addEventListener("error", () => {
    show("reconnecting", "off");
    if (source?.readyState === EventSource.CLOSED) {
      clearTimeout(retry);
      retry = setTimeout(() => listen().then(() => tell(null)), 4000);
    }
  });
  return ready;
}

export function stop() {
  clearTimeout(retry);
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) stop();
  else listen().then(() => tell(null));
});

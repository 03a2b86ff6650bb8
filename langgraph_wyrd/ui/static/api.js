// The JSON API. Threads are named by ?id=, which carries every id, `..` included.

const BASE = new URL("api/", document.baseURI);

export class Refused extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

export function address(path, query = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") url.searchParams.append(name, each);
    }
  }
  return url;
}

async function ask(url, options) {
  let answer;
  try {
    answer = await fetch(url, {credentials: "same-origin", ...options});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "Unreachable", "The inspector does not answer. Is it still running?");
  }
  const data = await answer.json().catch(() => null);
  if (answer.ok && data !== null) return data;
  const said = data?.error ?? {};
  if (answer.status === 401) document.dispatchEvent(new CustomEvent("wyrd:login"));
  throw new Refused(answer.status, said.kind ?? "Failed", said.message ?? `HTTP ${answer.status}`);
}

export const get = (path, query, signal) => ask(address(path, query), {signal});

export const post = (path, body, query) =>
  ask(address(path, query), {
    method: "POST",
    headers: {"content-type": "application/json", "x-wyrd": "page"},
    body: JSON.stringify(body),
  });

/** What the inspector allows; filled by main.js. */
export const allowed = {read_only: true};

/** Whose word a change is: the name that the person gave, if any. */
export function author() {
  return localStorage.getItem("wyrd-by") || undefined;
}

// Talking to the process: one request at a time for each poller, every two seconds.

const intervalMs = 2000;
const timeoutMs = 8000;

/** ApiError is a refusal; other errors mean that there was no answer. */
export class ApiError extends Error {
  constructor(status, message, details) {
    super(message);
    this.status = status;
    this.details = details; // the whole answer
  }
}

// Where the page is a file, what it shows is in it, by keyOf of the path.
const kept = JSON.parse(globalThis.document?.getElementById("kept")?.textContent ?? "null");

/** isFile means that the page is a file: nothing can be asked. */
export const isFile = () => kept !== null;

/** keyOf is a path without the answer's form; of a region with its name, scope and, but for stacks, version. */
export function keyOf(path) {
  const [what, query] = path.split("?");
  if (!what.startsWith("regions/")) return what;
  const asked = new URLSearchParams(query);
  const of = what === "regions/stacks" ? ["name", "scope"] : ["name", "scope", "scope_version", "scope_schema_url"];
  return [what, ...of.map((key) => asked.get(key) ?? "")].join("\n");
}

/** chosen are the sessions of a list that a query is about, in its order: of spansOf(session) any may have its name. */
export function chosen({ sessions, ...list }, query, spansOf = () => []) {
  const asked = new URLSearchParams(query);
  const name = asked.get("name") ?? "";
  const least = 1e6 * (Number(asked.get("min_ms")) || 0);
  const named = (s) => (asked.get("whole") === "1" && name ? s.name === name : s.name.toLowerCase().includes(name.toLowerCase())) || spansOf(s).some((span) => span.name === name);
  const found = sessions.filter((s) => named(s) && s.duration_ns >= least && (asked.get("errors") !== "1" || s.errors > 0));
  found.sort(asked.get("sort") === "worst" ? (a, b) => b.duration_ns - a.duration_ns : (a, b) => b.start.localeCompare(a.start));
  return { ...list, sessions: found };
}

function fromFile(path) {
  const answer = kept[keyOf(path)];
  if (!answer) throw new ApiError(404, "It is not in this file.");
  return path.startsWith("sessions?") ? chosen(answer, path.split("?")[1], (s) => kept[`sessions/${s.id}`]?.spans ?? []) : structuredClone(answer);
}

/** request asks the API below the page's own address and returns the JSON. It waits for timeout milliseconds at most. */
export async function request(path, { method = "GET", headers, body, signal, timeout = timeoutMs } = {}) {
  if (kept) return fromFile(path);
  const signals = [AbortSignal.timeout(timeout), ...(signal ? [signal] : [])];
  const response = await fetch(`api/v1/${path}`, { method, headers, body, signal: AbortSignal.any(signals), cache: "no-store" });
  const answer = await response.json();
  if (!response.ok) throw new ApiError(response.status, answer.error ?? response.statusText, answer);
  return answer;
}

/** unlessRefused returns what stands in for an answer that says no; that there is none is an error still. */
export const unlessRefused = (instead) => (err) => {
  if (err instanceof ApiError) return instead;
  throw err;
};

/** alive asks only whether the process is there. */
export async function alive(signal) {
  if (kept) return;
  const response = await fetch("healthz", { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]), cache: "no-store" });
  await response.text(); // an answer that is not read holds its connection
}

/**
 * Poller calls load(signal) now and every two seconds while the page is visible and not
 * paused, and hands what it returns to done, or what it threw to failed(err, drawing), drawing if
 * done threw it. With once, the first answer is the last.
 */
export class Poller {
  constructor({ load, done, failed, once }) {
    Object.assign(this, { load, done, failed, once });
    this.paused = false;
    this.timer = 0;
    this.running = null;
    this.onVisible = () => {
      if (document.hidden) this.halt();
      else if (!this.paused) this.start();
    };
    document.addEventListener("visibilitychange", this.onVisible);
  }

  /** start asks at once, and goes on. */
  start() {
    this.halt();
    this.tick();
  }

  pause(paused) {
    this.paused = paused;
    if (paused) clearTimeout(this.timer);
    else this.start();
  }

  halt() {
    clearTimeout(this.timer);
    this.running?.abort();
    this.running = null;
  }

  stop() {
    this.halt();
    document.removeEventListener("visibilitychange", this.onVisible);
  }

  async tick() {
    const run = new AbortController();
    this.running = run;
    let over = this.once;
    let drawing = false;
    try {
      const data = await this.load(run.signal);
      drawing = true;
      if (this.running === run) this.done(data);
    } catch (err) {
      over &&= drawing;
      if (this.running === run) this.failed(err, drawing);
    }
    if (this.running !== run) return; // replaced while waiting
    this.running = null;
    if (!over && !document.hidden && !this.paused) this.timer = setTimeout(() => this.tick(), intervalMs);
  }
}

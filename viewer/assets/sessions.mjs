// The list of kept sessions.

import { request } from "./api.mjs";
import { empty, h, keyedInSlices, setAttr, setText } from "./dom.mjs";
import { ago, attributeText, clock, count, dateTime, duration, percent, plural } from "./format.mjs";

let lastAddress = "#/sessions";

/** listAddress is where the list is, as it was filtered last. */
export function listAddress() {
  return lastAddress;
}

export function sessionsView(context) {
  const { query } = context;
  lastAddress = location.hash;
  const field = (name, props) => h("input", { name, value: query.get(name) ?? "", oninput: later, ...props });
  const name = field("name", { type: "search", placeholder: "Filter by request or step", "aria-label": "Filter by a part of a request's name, or a step's whole name", "data-filter": true });
  const atLeast = field("min_ms", { type: "number", min: 0, step: "any", placeholder: "0", class: "short" });
  const errors = h("input", { type: "checkbox", onchange: now });
  const whole = h("input", { type: "checkbox", onchange: now });
  whole.checked = query.get("whole") === "1";
  errors.checked = query.get("errors") === "1";
  const sort = h("select", { onchange: now },
    h("option", { value: "worst" }, "Slowest first"), h("option", { value: "newest" }, "Newest first"));
  sort.value = query.get("sort") === "newest" ? "newest" : "worst";
  const limit = h("select", { onchange: now }, ["100", "300", "1000"].map((n) => h("option", { value: n }, n)));
  limit.value = ["300", "1000"].includes(query.get("limit")) ? query.get("limit") : "100";

  const shown = h("span", { class: "muted" });
  const note = h("p", { class: "note" });
  const rows = h("table", { class: "sessions" },
    h("caption", { class: "visually-hidden" }, "Sessions"),
    h("thead", {}, h("tr", {},
      ["Session", "Duration", "Most self time in", "Spans", "Started"].map((t, i) => h("th", { scope: "col", class: `${i === 0 || i === 2 ? "text" : "number"} s-${i}` }, t)))));
  const table = h("div", { class: "scroll" }, rows);
  const none = empty("No session yet",
    "A session is what one request, or one call of spans.StartSession, did in this process. It appears here when its root span has ended.");
  const noMatch = empty("No session matches", "Make the filters wider: a shorter name, a smaller duration, or sessions without errors too.");
  const el = h("section", { "aria-label": "Sessions" },
    h("h1", { class: "visually-hidden" }, "Sessions"),
    h("form", { class: "toolbar", onsubmit: (e) => e.preventDefault() },
      name, h("label", {}, whole, " Whole name"), h("label", {}, "At least ", atLeast, " ms"), h("label", {}, errors, " With errors"),
      h("label", {}, h("span", { class: "visually-hidden" }, "Order "), sort), h("label", {}, "Show ", limit), shown),
    table, none, noMatch, note);
  for (const x of [table, none, noMatch]) x.hidden = true;

  let longest = 1; // ns
  let drawing = null;
  let timer = 0;
  function later() {
    clearTimeout(timer);
    timer = setTimeout(now, 250);
  }
  function chosen() {
    return {
      name: whole.checked ? name.value : name.value.trim(),
      whole: whole.checked,
      min_ms: Number(atLeast.value) > 0 ? atLeast.value : "",
      errors: errors.checked,
      sort: sort.value === "newest" ? "newest" : "",
      limit: limit.value === "100" ? "" : limit.value,
    };
  }
  function now() {
    context.remember(chosen());
    lastAddress = location.hash;
    context.refresh();
  }

  return {
    title: "Sessions",
    el,
    close() { clearTimeout(timer); drawing?.stop(); },
    load(signal) {
      const wanted = new URLSearchParams({ sort: sort.value });
      for (const [k, v] of Object.entries(chosen())) if (v) wanted.set(k, v === true ? "1" : v);
      return request(`sessions?${wanted}`, { signal });
    },
    render({ sessions, more, dropped }) {
      const c = chosen();
      const filtered = Boolean(c.name || c.min_ms || c.errors);
      table.hidden = sessions.length === 0;
      none.hidden = sessions.length > 0 || filtered;
      noMatch.hidden = sessions.length > 0 || !filtered;
      setText(noMatch.firstElementChild, more ? "No session matches of those looked at" : "No session matches");
      longest = Math.max(...sessions.map((s) => s.duration_ns), 1);
      drawing = keyedInSlices(rows, sessions, (s) => s.id, () => sessionRow((s) => s.duration_ns / longest));
      setText(shown, more ? `${count(sessions.length)} shown, more may match` : plural(sessions.length, "session"));
      setText(note, droppedText(dropped));
    },
    back() { name.value = ""; atLeast.value = ""; errors.checked = whole.checked = false; now(); },
  };
}

/** droppedText says what never reached the list, "" for nothing. */
export function droppedText(d) {
  const lost = d.queue_full + d.store_error;
  const parts = [];
  if (lost) parts.push(`${plural(lost, "session")} dropped: ${d.queue_full} with the queue full, ${d.store_error} by the store.`);
  if (d.unwanted) parts.push(`${plural(d.unwanted, "session")} not kept: neither slow nor failed enough for the store.`);
  if (d.revisions) parts.push(`${plural(d.revisions, "session")} without spans that ended late.`);
  if (d.hook_panics) parts.push(`${plural(d.hook_panics, "call")} of hooks panicked.`);
  if (d.discarded) parts.push(`${plural(d.discarded, "session")} discarded by the application.`);
  if (d.session_full) parts.push(`${plural(d.session_full, "span")} dropped from sessions that were full.`);
  return parts.join(" ");
}

/** sessionRow is one row; part is how long a session is beside the longest. */
function sessionRow(part) {
  const link = h("a", { class: "row-name", "data-row": true });
  const name = h("span", { class: "name-text" });
  const flags = h("span", { class: "flags" });
  const tags = h("span", { class: "tags muted" });
  const fill = h("span", { class: "meter-fill" });
  const took = h("span", { class: "took" });
  const hot = h("td", { class: "text s-2" });
  const spans = h("td", { class: "number s-3" });
  const started = h("td", { class: "number s-4" });
  link.append(name);
  const el = h("tr", { class: "session-row", onclick: (e) => { if (!e.target.closest("a") && !getSelection().toString()) link.click(); } },
    h("td", { class: "text s-0" }, link, flags, tags),
    h("td", { class: "number s-1" }, h("span", { class: "self" }, h("span", { class: "meter", "aria-hidden": "true" }, fill), took)),
    hot, spans, started);
  let session = null;
  return {
    el,
    update(s) {
      setText(started, `${clock(s.start)} · ${ago(s.start)}`);
      fill.style.setProperty("width", `${100 * part(s)}%`);
      if (session && JSON.stringify(session) === JSON.stringify(s)) return;
      session = s;
      started.title = dateTime(s.start);
      link.href = `#/sessions/${s.id}`;
      setText(name, s.name);
      flags.replaceChildren(...flagsOf(s));
      setText(tags, s.attributes.map((a) => `${a.key}=${attributeText(a.value)}`).join("  "));
      setText(took, duration(s.duration_ns));
      setText(hot, s.hot ? `${s.hot.name}${s.hot.count > 1 ? ` ×${s.hot.count}` : ""} · ${percent(s.hot.share)}` : "–");
      setAttr(hot, "title", s.hot ? `${duration(s.hot.self_ns)} of self time` : null);
      setText(spans, count(s.span_count));
    },
  };
}

/** flagsOf makes the badges of what is remarkable about a session. */
export function flagsOf(s) {
  return [
    s.errors > 0 && h("span", { class: "badge bad" }, `✕ ${plural(s.errors, "error")}`),
    s.open > 0 && h("span", { class: "badge" }, `${s.open} still open`),
    s.dropped > 0 && h("span", { class: "badge warn", title: "Spans left out since the session was full" }, `${count(s.dropped)} dropped`),
    s.recorded > 0 && h("span", { class: "badge", title: "A recording was on: open it to see what it waited for, and who ended that" }, "waits known"),
  ].filter(Boolean);
}

// The view of one session: a tree of its spans beside a timeline.

import { alive, isFile, request } from "./api.mjs";
import { foldDetails, overview, spanDetails } from "./details.mjs";
import { copyButton, empty, h, keyed, setAttr, setText } from "./dom.mjs";
import { attributeText, count, dateTime, duration, plural } from "./format.mjs";
import { flagsOf, listAddress } from "./sessions.mjs";
import { axis, timelineRow } from "./timeline.mjs";
import { buildTree, defaultThreshold, extent, rowsOf, statementOf, thresholds } from "./tree.mjs";

// More rows than this make the page slow, and are more than one can read.
const maxRows = 1500;

export function sessionView(context) {
  const { query } = context;
  const state = {
    session: null, tree: null, range: [0, 1], rows: [],
    selected: query.get("span"), closed: new Set(), opened: new Set(),
    minNs: query.has("min_ns") ? Number(query.get("min_ns")) || 0 : null,
    fold: query.get("fold") !== "0", find: "",
  };
  const head = h("header", { class: "session-head" }, h("h1", { class: "visually-hidden" }, "Session"));
  const hide = h("select", { onchange: () => { state.minNs = Number(hide.value); context.remember({ min_ns: hide.value }); draw(); } });
  const fold = h("input", { type: "checkbox", onchange: () => { state.fold = fold.checked; context.remember({ fold: fold.checked ? "" : "0" }); draw(); } });
  fold.checked = state.fold;
  const find = h("input", { type: "search", placeholder: "Find a step", "aria-label": "Find a step", "data-filter": true,
    oninput: () => { state.find = find.value.trim().toLowerCase(); draw(); } });
  const found = h("span", { class: "muted" });
  const scale = h("div", { class: "axis-row" });
  const lines = h("div", { class: "axis-lines", "aria-hidden": "true" });
  const rows = h("div", { class: "rows" });
  const tooMany = h("p", { class: "note" });
  const grid = h("div", { class: "timeline", role: "treegrid", "aria-label": "Spans" }, lines, scale, rows);
  const aside = h("aside", { class: "details", "aria-label": "Details" });
  const body = h("div", { class: "session-body", hidden: true },
    h("div", { class: "session-main" },
      h("div", { class: "toolbar" }, find, h("label", {}, "Hide shorter than ", hide), h("label", {}, fold, " Fold repeats"), found),
      grid, legend(), tooMany),
    aside);
  const gone = empty("This session is not kept any more",
    "The store keeps the newest sessions, within its limits. Older ones make room.",
    h("p", {}, h("a", { href: listAddress() }, "Back to the sessions")));
  gone.hidden = true;
  const el = h("section", { class: "session", "aria-label": "Session" },
    h("p", { class: "crumbs" }, h("a", { href: listAddress() }, "← Sessions")), head, body, gone);

  function draw() {
    const { session, tree } = state;
    if (!session) return;
    const all = rowsOf(tree, { minNs: state.minNs, fold: state.fold, closed: state.closed, opened: state.opened, keep: state.selected });
    state.rows = all.slice(0, maxRows);
    const matches = (row) => !state.find || textOf(row).includes(state.find);
    const hits = state.find ? all.filter(matches).length : 0;
    setText(found, state.find ? plural(hits, "match", "matches") : "");
    const ctx = { range: state.range, selected: state.selected, matches, toggle, select };
    keyed(rows, state.rows, (r) => r.key, () => timelineRow(), 0);
    for (const row of state.rows) rows.keyedParts.get(row.key).draw(row, ctx);
    const first = rows.querySelector("[tabindex='0']");
    if (!first && rows.firstElementChild) rows.firstElementChild.tabIndex = 0;
    setText(tooMany, all.length > maxRows ? `${count(all.length - maxRows)} more rows are not drawn: hide shorter steps to see the rest.` : "");
    drawDetails();
  }

  function drawDetails() {
    const row = state.rows.find((r) => r.key === state.selected && r.type !== "hidden");
    const node = state.tree.byKey.get(state.selected);
    const content = node ? spanDetails(node, state.session) : row ? foldDetails(row) : null;
    const key = content ? state.selected : "";
    if (aside.dataset.key === key && aside.drawnFor === state.session) return;
    aside.dataset.key = key;
    aside.drawnFor = state.session;
    setAttr(aside, "data-open", content ? "" : null);
    if (content) {
      const close = h("button", { type: "button", class: "quiet", "aria-label": "Close details", onclick: () => {
        const at = rows.keyedParts.get(state.selected)?.el;
        select(null);
        at?.focus(); // the button is gone
      } }, "Close");
      aside.replaceChildren(h("div", { class: "details-bar" }, copyButton("Copy link", () => location.href), close), content);
    } else {
      aside.replaceChildren(overview(state.tree, state.session, (k) => select(k, true)));
    }
    aside.scrollTop = 0;
  }

  function select(key, reveal = false) {
    state.selected = key;
    if (key) {
      for (let n = state.tree.byKey.get(key)?.parent; n; n = n.parent) state.closed.delete(n.key);
    }
    context.remember({ span: key });
    draw();
    if (reveal) {
      const target = rows.keyedParts.get(key)?.el;
      target?.focus({ preventScroll: true });
      target?.scrollIntoView({ block: "nearest" });
    }
  }

  function toggle(row, open = !row.open) {
    const set = row.type === "span" ? state.closed : state.opened;
    if (open === (row.type === "span")) set.delete(row.key);
    else set.add(row.key);
    if (!open && state.selected && row.type !== "span") state.selected = null; // it would hold the row open
    draw();
  }

  function render(session) {
    if (!session) return; // nothing new
    const first = !state.session;
    state.session = session;
    state.tree = buildTree(session.spans);
    state.range = extent(session);
    state.minNs ??= defaultThreshold(session.duration_ns, session.spans.length);
    hide.replaceChildren(...thresholds(session.duration_ns).map((ns) => h("option", { value: ns }, ns ? duration(ns) : "nothing")));
    if (![...hide.options].some((o) => Number(o.value) === state.minNs)) hide.append(h("option", { value: state.minNs }, duration(state.minNs)));
    hide.value = String(state.minNs);
    head.replaceChildren(...heading(session));
    axis(scale, lines, state.range, session.duration_ns);
    gone.hidden = true;
    body.hidden = false;
    draw();
    if (first && state.selected) rows.keyedParts.get(state.selected)?.el.scrollIntoView({ block: "center" });
  }

  return {
    title: "Session",
    el,
    async load(signal) {
      if (state.session && settled(state.session)) return alive(signal);
      const session = await request(`sessions/${encodeURIComponent(context.id)}`, { signal });
      return state.session && JSON.stringify(session) === JSON.stringify(state.session) ? null : session;
    },
    render,
    refused(err) {
      const unknown = err.status === 404 || err.status === 400;
      gone.hidden = Boolean(state.session) || !unknown;
      return unknown;
    },
    back() {
      if (state.selected) select(null);
      else location.hash = listAddress();
    },
    key(event) {
      const at = state.rows.find((r) => rows.keyedParts.get(r.key)?.el === document.activeElement);
      if (!at) return false;
      return rowKey(event, at, { toggle, select, rows: state.rows, focus: (k) => rows.keyedParts.get(k)?.el.focus() });
    },
  };
}

// analysedWithin is how long after its end a session may become part of a recording that was on.
const analysedWithin = 60_000;

/** settled means that nothing of a session can change any more: its spans, and what they waited for. */
const settled = (s) => s.open === 0 && (s.recorded === 1 || Date.now() - Date.parse(s.start) - s.duration_ns / 1e6 > analysedWithin);

/** rowKey does what a key means on a row of the tree; it returns false for other keys. */
function rowKey(event, row, { toggle, select, rows, focus }) {
  switch (event.key) {
    case "ArrowRight":
      if (row.expandable && !row.open) toggle(row, true);
      return true;
    case "ArrowLeft": {
      if (row.expandable && row.open) {
        toggle(row, false);
        return true;
      }
      const before = rows.slice(0, rows.indexOf(row)).reverse().find((r) => r.depth < row.depth);
      if (before) focus(before.key);
      return true;
    }
    case "Enter":
    case " ":
      if (row.type === "hidden") toggle(row);
      else select(row.key);
      return true;
    default:
      return false;
  }
}

function heading(s) {
  const inserted = s.spans.reduce((sum, span) => sum + (span.parent < 0 ? span.delay_ns : 0), 0);
  const fact = (label, ...value) => h("span", { class: "fact" }, h("span", { class: "muted" }, `${label} `), ...value);
  return [
    h("h1", {}, s.name, " ", flagsOf({ ...s, recorded: 0 })),
    h("p", { class: "fact-line" },
      fact("Took", h("strong", {}, duration(s.duration_ns))),
      fact("Started", dateTime(s.start)),
      fact("Spans", count(s.spans.length)),
      inserted > 0 && fact("Causal experiments inserted", duration(inserted)),
      /[1-9a-f]/.test(s.trace_id) && fact("Trace", h("code", {}, s.trace_id)),
      s.origin !== s.id && /[1-9a-f]/.test(s.origin) && fact("Began in session", h("code", {}, s.origin)),
      !isFile() && h("a", { href: `api/v1/sessions/${s.id}?format=otlp`, download: `session-${s.id}.json` }, "Download OTLP JSON"),
      s.trace_url && h("a", { href: s.trace_url, target: "_blank", rel: "noopener noreferrer", title: s.trace_url }, "Open trace ↗"),
      copyButton("Copy link", () => location.href)),
    s.attributes.length > 0 && h("p", { class: "tag-line" }, s.attributes.map((a) => h("code", { class: "tag" }, `${a.key}=${attributeText(a.value)}`))),
  ].filter(Boolean);
}

function legend() {
  return h("p", { class: "legend muted", "aria-hidden": "true" },
    h("span", {}, h("i", { class: "swatch own" }), "self time: no child open"),
    h("span", {}, h("i", { class: "swatch" }), "waiting for children"),
    h("span", {}, h("i", { class: "swatch wait" }), "waits: for what is in the details"),
    h("span", {}, h("i", { class: "swatch error" }), "✕ failed"),
    h("span", {}, h("i", { class: "swatch late" }), "late: ended after the session"));
}

function textOf(row) {
  if (row.type === "hidden") return "";
  if (row.type === "fold") return `${row.name} ${row.kind} ${row.statement}`.toLowerCase();
  const { span } = row.node;
  return [span.name, span.kind, statementOf(span), ...span.attributes.map((a) => `${a.key}=${attributeText(a.value)}`)].join(" ").toLowerCase();
}

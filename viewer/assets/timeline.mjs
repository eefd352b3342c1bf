// One row of the tree-timeline, and the axis above it.

import { h, setAttr, setText } from "./dom.mjs";
import { duration, plural } from "./format.mjs";
import { linear, ticks } from "./scale.mjs";
import { selfSegments, statementOf } from "./tree.mjs";
import { waitBars } from "./waits.mjs";

const maxMarks = 24; // events of one span that are marked, occurrences of a fold that are drawn apart
const maxIndent = 14;

/** axis draws the times above the rows and the lines through them. */
export function axis(scale, lines, [lo, hi], sessionNs) {
  const at = linear(lo, hi, 0, 100);
  const all = ticks(lo, hi, 5).filter((t) => at(t) < 97);
  scale.replaceChildren(
    h("span", { class: "axis-title" }, "Step"), h("span", { class: "axis-title took" }, "Took"),
    h("span", { class: "axis-lane" }, all.filter((t) => at(t) < 88).map((t) => h("span", { class: "axis-tick", style: { left: `${at(t)}%` } }, duration(t)))));
  lines.replaceChildren(...all.map((t) => h("span", { class: "axis-line", style: { left: `${at(t)}%` } })),
    ...(hi > sessionNs * 1.001 ? [h("span", { class: "axis-line end", style: { left: `${at(sessionNs)}%` } }, h("span", {}, "session ended"))] : []));
}

/** timelineRow makes a row that can draw any row of the tree with its key. */
export function timelineRow() {
  const name = h("div", { class: "row-step", role: "gridcell" });
  const took = h("div", { class: "row-took", role: "gridcell" });
  const lane = h("div", { class: "row-lane", role: "gridcell" });
  const el = h("div", { class: "row", role: "row", tabindex: "-1", "data-row": true }, name, took, lane);
  let row = null;
  let ctx = null;
  let drawn = "";
  el.addEventListener("click", (event) => {
    if (getSelection().toString()) return;
    if (event.target.closest(".twist") || row.type === "hidden") {
      ctx.toggle(row);
    } else {
      if (row.type === "fold" && !row.open) ctx.toggle(row);
      ctx.select(row.key);
    }
  });
  el.addEventListener("focus", () => {
    for (const other of el.parentElement.children) if (other !== el) other.tabIndex = -1;
    el.tabIndex = 0;
    // Once the details are open they follow the keyboard.
    if (ctx.selected && ctx.selected !== row.key && row.type === "span" && el.matches(":focus-visible")) ctx.select(row.key);
  });
  return {
    el,
    update() {},
    draw(next, context) {
      [row, ctx] = [next, context];
      setAttr(el, "aria-level", row.depth + 1);
      setAttr(el, "aria-expanded", row.expandable ? String(row.open) : null);
      setAttr(el, "aria-selected", row.key === ctx.selected);
      setAttr(el, "data-type", row.type);
      setAttr(el, "data-dim", !ctx.matches(row) || null);
      const node = row.node?.span;
      const state = JSON.stringify([row.open, row.depth, row.count, row.totalNs, node?.duration_ns, node?.self_ns, node?.waits?.length, row.node?.children.length, ctx.range]);
      if (state === drawn) return;
      drawn = state;
      // Deep trees keep room for the names.
      name.style.setProperty("--depth", Math.min(row.depth, maxIndent));
      const draw = { span: drawSpan, fold: drawFold, hidden: drawHidden }[row.type];
      draw(row, name, took, lane, linear(...ctx.range, 0, 100));
    },
  };
}

function twist(row) {
  return h("span", { class: "twist", "aria-hidden": "true" }, row.expandable ? (row.open ? "▾" : "▸") : "");
}

function chip(kind) {
  return kind !== "internal" && kind !== "unspecified" && h("span", { class: "chip" }, kind);
}

function drawSpan(row, name, took, lane, at) {
  const { span } = row.node;
  const failed = span.status === "Error";
  const statement = statementOf(span);
  const own = span.delay_ns - row.node.children.reduce((sum, c) => sum + c.span.delay_ns, 0);
  name.replaceChildren(...[
    twist(row),
    failed && h("span", { class: "bad", title: "Status Error" }, "✕ "),
    h("span", { class: "name-text" }, span.name),
    chip(span.kind),
    span.late && h("span", { class: "badge late", title: "Ended after the session did" }, "late"),
    own > 0 && h("span", { class: "badge", title: "Inserted by causal experiments at the end of this span: the spans above took that much longer" }, `+${duration(own)} inserted`),
    statement && statement !== span.name && h("span", { class: "muted statement" }, statement),
  ].filter(Boolean));
  name.title = statement || span.name;
  setText(took, duration(span.duration_ns));
  lane.replaceChildren(bar(row.node, at, failed), ...eventMarks(span, at));
}

/** bar draws a span, and within it the parts that are its own. */
function bar(node, at, failed) {
  const { span } = node;
  const left = at(span.start_ns);
  const width = Math.max(at(span.start_ns + span.duration_ns) - left, 0);
  const whole = Math.max(span.duration_ns, 1);
  const el = h("span", {
    class: "bar", data: { ...(failed && { failed: "" }), ...(span.late && { late: "" }) },
    style: { left: `${left}%`, width: `${width}%` },
    title: `${duration(span.duration_ns)}, self ${duration(span.self_ns)}, from ${duration(span.start_ns)}`,
  });
  for (const [from, to] of selfSegments(node)) {
    el.append(h("span", { class: "bar-self", style: {
      left: `${(100 * (from - span.start_ns)) / whole}%`, width: `${(100 * (to - from)) / whole}%`,
    } }));
  }
  el.append(...waitBars(span));
  return el;
}

function eventMarks(span, at) {
  return span.events.slice(0, maxMarks).map((e) => h("span", {
    class: e.name === "exception" ? "event-mark bad" : "event-mark",
    style: { left: `${at(e.time_ns)}%` }, title: `${e.name} at ${duration(e.time_ns)}`,
  }, e.name === "exception" ? "✕" : "◆"));
}

function drawFold(row, name, took, lane, at) {
  name.replaceChildren(...[
    twist(row),
    row.errors > 0 && h("span", { class: "bad" }, "✕ "),
    h("span", { class: "name-text" }, row.name),
    h("strong", { class: "times" }, `×${row.count}`),
    chip(row.kind),
    row.repeated && h("span", { class: "badge warn", title: `${row.count} equal calls below one step: one call for all of them may do` }, "N+1"),
    row.errors > 0 && h("span", { class: "badge bad" }, plural(row.errors, "error")),
    row.statement && row.statement !== row.name && h("span", { class: "muted statement" }, row.statement),
  ].filter(Boolean));
  name.title = row.statement || row.name;
  setText(took, duration(row.totalNs));
  const spans = row.nodes.map((n) => n.span);
  const from = at(spans[0].start_ns);
  const to = spans.reduce((most, s) => Math.max(most, at(s.start_ns + s.duration_ns)), from); // too many for arguments
  const group = h("span", { class: "bar fold", style: { left: `${from}%`, width: `${to - from}%` },
    title: `${row.count} times ${duration(row.minNs)} … ${duration(row.maxNs)}, ${duration(row.totalNs)} together` });
  // Too many to tell apart are drawn as the few merged runs they make.
  lane.replaceChildren(group, ...runs(spans, 0.15 / (at(1) - at(0))).map(([a, b]) => h("span", {
    class: "bar-part", style: { left: `${at(a)}%`, width: `${Math.max(at(b) - at(a), 0)}%` },
  })));
}

/** runs merges spans that follow one another within a gap, and returns at most 200. */
function runs(spans, gap) {
  const out = [];
  for (const s of spans) {
    const end = s.start_ns + s.duration_ns;
    const last = out.at(-1);
    if (last && (s.start_ns - last[1] < gap || out.length >= 200)) last[1] = Math.max(last[1], end);
    else out.push([s.start_ns, end]);
  }
  return out;
}

function drawHidden(row, name, took, lane) {
  name.replaceChildren(twist(row), h("span", { class: "muted" },
    `${plural(row.count, "shorter step")} ${row.open ? "shown" : "hidden"}`));
  setText(took, duration(row.totalNs));
  lane.replaceChildren();
}

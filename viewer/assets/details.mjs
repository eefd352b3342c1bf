// The panel beside the timeline: where the time went, or one span, or one fold.

import { h } from "./dom.mjs";
import { attributeText, count, duration, percent, plural } from "./format.mjs";
import { hotSteps, isRepeated } from "./tree.mjs";
import { sessionWaits, spanWaits } from "./waits.mjs";

const shownSteps = 8;

/** overview lists the steps with the most self time, and the longest waits; choose(key) selects a span. */
export function overview(tree, session, choose) {
  const steps = hotSteps(tree).filter((s) => s.selfNs > 0);
  const most = steps[0]?.selfNs || 1;
  const rest = steps.slice(shownSteps);
  return h("div", {},
    h("h2", {}, "Where the time went"),
    h("p", { class: "muted" }, "Self time by step, in parts of their sum: steps at the same time add up to more than the session. Steps that differ in parameters only count as one."),
    h("ol", { class: "hot" }, steps.slice(0, shownSteps).map((s) => h("li", {},
      h("button", { type: "button", class: "hot-step", onclick: () => choose(s.first) },
        h("span", { class: "hot-name" }, s.name, s.count > 1 && h("strong", { class: "times" }, `×${s.count}`),
          isRepeated(s.kind, s.count) && h("span", { class: "badge warn" }, "N+1?")),
        s.statement && s.statement !== s.name && h("span", { class: "hot-statement muted" }, s.statement),
        h("span", { class: "hot-meter" },
          h("span", { class: "meter", "aria-hidden": "true" }, h("span", { class: "meter-fill", style: { width: `${(100 * s.selfNs) / most}%` } })),
          h("span", { class: "share" }, percent(s.share)), h("span", { class: "muted total" }, duration(s.selfNs))))))),
    rest.length > 0 && h("p", { class: "muted" },
      `${plural(rest.length, "further step")} with ${percent(rest.reduce((sum, s) => sum + s.share, 0))} together.`),
    sessionWaits(session, (index) => choose(tree.nodes[index].key)));
}

/** spanDetails shows everything known of one span. */
export function spanDetails(node, session) {
  const { span } = node;
  const ofSession = session.duration_ns > 0 ? ` (${percent(span.duration_ns / session.duration_ns)} of the session)` : "";
  return h("div", {},
    h("h2", {}, span.status === "Error" && h("span", { class: "bad" }, "✕ "), span.name),
    facts([
      ["Took", duration(span.duration_ns) + ofSession],
      ["Self time", `${duration(span.self_ns)} (${percent(span.duration_ns > 0 ? span.self_ns / span.duration_ns : 0)} of the span)`],
      ["Began at", duration(span.start_ns)],
      ["Status", span.status === "Unset" ? "not set" : span.status + (span.status_text ? `: ${span.status_text}` : ""), span.status === "Error" && "bad"],
      ["Kind", span.kind],
      ["Scope", [span.scope, span.scope_version].filter(Boolean).join(" ") || "none"],
      span.delay_ns > 0 && ["Inserted", `${duration(span.delay_ns)} by causal experiments, in and below this span`],
      span.late && ["Late", "It ended after the session did"],
      node.children.length > 0 && ["Children", `${count(node.children.length)} direct, ${count(node.size - 1)} in all`],
      /[1-9a-f]/.test(span.span_id) && ["Span id", h("code", {}, span.span_id)],
    ]),
    !span.sampled && h("p", { class: "muted" }, "The sampler left this span out: its attributes and events are not known."),
    spanWaits(span),
    attributes(span.attributes),
    span.events.length > 0 && h("section", {}, h("h3", {}, "Events"), span.events.map(eventBlock)),
    span.links.length > 0 && h("section", {}, h("h3", {}, "Links"), span.links.map((l) => h("div", { class: "event" },
      facts([["Trace", h("code", {}, l.trace_id)], ["Span", h("code", {}, l.span_id)]]), attributes(l.attributes, false)))));
}

function eventBlock(e) {
  const text = (key) => attributeText(e.attributes.find((a) => a.key === key)?.value);
  const at = h("span", { class: "muted" }, ` at ${duration(e.time_ns)}`);
  if (e.name !== "exception") return h("div", { class: "event" }, h("p", {}, h("strong", {}, e.name), at), attributes(e.attributes, false));
  const rest = e.attributes.filter((a) => !["exception.type", "exception.message", "exception.stacktrace"].includes(a.key));
  const stack = text("exception.stacktrace");
  return h("div", { class: "event exception" },
    h("p", {}, h("span", { class: "bad" }, "✕ "), h("strong", {}, text("exception.type") || "exception"), at),
    h("p", { class: "message" }, text("exception.message")),
    stack && h("details", {}, h("summary", {}, "Stack trace"), h("pre", { tabindex: "0" }, stack)),
    attributes(rest, false));
}

/** foldDetails shows what repeated siblings have in common. */
export function foldDetails(row) {
  return h("div", {},
    h("h2", {}, row.name, h("strong", { class: "times" }, `×${row.count}`)),
    row.repeated && h("p", {}, h("span", { class: "badge warn" }, "N+1"),
      ` ${count(row.count)} equal calls below one step, ${duration(row.totalNs)} together. One call for all of them, by a join or a list of keys, may do.`),
    facts([
      ["Together", duration(row.totalNs)],
      ["Self time", duration(row.selfNs)],
      ["Shortest", duration(row.minNs)],
      ["Median", duration(row.medianNs)],
      ["Longest", duration(row.maxNs)],
      ["Kind", row.kind],
      row.errors > 0 && ["Errors", count(row.errors), "bad"],
    ]),
    row.statement && h("section", {}, h("h3", {}, "Statement"), h("pre", { class: "wrap" }, row.statement)));
}

function facts(list) {
  return h("dl", { class: "facts" }, list.filter(Boolean).map(([label, value, cls]) => [h("dt", {}, label), h("dd", { class: cls || null }, value)]));
}

/** breakable lets a long name break behind its dots. */
function breakable(name) {
  return name.split(/(?<=\.)/).flatMap((part, i) => (i > 0 ? [h("wbr"), part] : [part]));
}

function attributes(list, titled = true) {
  if (list.length === 0) return null;
  const table = h("table", { class: "attributes" }, h("tbody", {}, list.map((a) => h("tr", {},
    h("th", { scope: "row" }, breakable(a.key)), h("td", {}, attributeText(a.value))))));
  return titled ? h("section", {}, h("h3", {}, "Attributes"), table) : table;
}

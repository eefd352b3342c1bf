// What spans waited for, and who ended that: in a session, and of a region.

import { h, isSaved, tableHead, tableRow } from "./dom.mjs";
import { count, duration, percent, plural } from "./format.mjs";
import { byOf, recordedText, sumWaits, tailRows, waitRows, waitText, whatOf } from "./waitwords.mjs";

const shownWaits = 12;

/** waitBars are the waits of a span within its bar. */
export function waitBars(span) {
  const whole = Math.max(span.duration_ns, 1);
  return (span.waits ?? []).map((w) => h("span", { class: "bar-wait", title: waitText(w), style: {
    left: `${(100 * (w.at_ns - span.start_ns)) / whole}%`, width: `${(100 * w.for_ns) / whole}%`,
  } }));
}

/** spanWaits lists the waits of one span, the longest first. */
export function spanWaits(span) {
  const all = [...(span.waits ?? [])].sort((a, b) => b.for_ns - a.for_ns);
  if (all.length === 0) return null;
  const rest = all.slice(shownWaits);
  return h("section", {}, h("h3", {}, "Waits"),
    h("ul", { class: "waits" }, all.slice(0, shownWaits).map((w) => h("li", { title: w.where },
      h("strong", {}, duration(w.for_ns)), " ", whatOf(w), byLine(w), h("span", { class: "muted" }, ` at ${duration(w.at_ns)}`)))),
    rest.length > 0 && h("p", { class: "muted" }, `${plural(rest.length, "shorter wait")}, ${duration(rest.reduce((sum, w) => sum + w.for_ns, 0))} together.`));
}

function byLine(w) {
  const text = byOf(w);
  if (!text) return null;
  const title = w.by_where && `ended at ${w.by_where}`;
  return [", ", w.by_session ? h("a", { href: `#/sessions/${w.by_session}?span=${w.by_span}`, title }, text) : h("span", { title }, text)];
}

/** sessionWaits sums up what the whole session waited for; choose(index) selects the span with the longest. */
export function sessionWaits(session, choose) {
  if (document.body.dataset.causal !== "true" || (isSaved() && !session.recorded)) return null;
  const all = sumWaits(session.spans);
  return h("section", {}, h("h2", {}, "What it waited for"), h("p", { class: "muted" }, recordedText(session.recorded)),
    h("ol", { class: "waits" }, all.slice(0, shownWaits).map((w) => h("li", {},
      h("button", { type: "button", class: "hot-step", onclick: () => choose(w.span) },
        h("strong", {}, duration(w.ns)), " ", w.what, w.by && `, ${w.by}`, w.count > 1 && h("span", { class: "muted" }, ` ×${w.count}`))))));
}

/** regionTails are the tables of why the slowest requests are slow. */
export function regionTails({ tails }) {
  return tails.map((t) => ({ t, rows: tailRows(t) })).filter(({ rows }) => rows.length > 0).map(({ t, rows }) => h("div", { class: "waits-box scroll" }, h("table", {},
    h("caption", { class: "note" }, `Why the slowest ${count(t.slowest)} of ${plural(t.requests, "request")} are slow: ${duration(t.slow_ns)} in the mean, from ${duration(t.from_ns)} on, where others take ${duration(t.typical_ns)}`,
      t.sessions?.length > 0 && [" · ", t.sessions.map((id, i) => [i > 0 && ", ", h("a", { href: `#/sessions/${id}` }, `example ${i + 1}`)])]),
    tableHead(["Time for", "Ended by", "In"], ["Of the difference", "The slowest", "Others", "The slowest without"]),
    h("tbody", {}, rows.map((row) => tableRow([row.what, row.by || "–", row.in],
      [percent(row.share), duration(row.slow), duration(row.typical), duration(row.without)]))))));
}

/** regionWaits is the table of what a region waited for. */
export function regionWaits({ regions }) {
  return regions.filter((r) => r.waits?.length > 0).map((r) => h("div", { class: "waits-box scroll" }, h("table", {},
    h("caption", { class: "note" }, `What ${plural(r.spans, "span")} of the last recordings waited for, spans below included: at the same time, shares add up to more than all`),
    tableHead(["Waits for", "Ended by", "In"], ["Share", "A span", "Longest", "Count"]),
    h("tbody", {}, waitRows(r).map((row) => tableRow([row.what, row.by || "–", row.in],
      [percent(row.share), duration(row.total / Math.max(r.spans, 1)), duration(row.longest), count(row.count)], { title: row.title }))))));
}

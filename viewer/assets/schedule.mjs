// Where the time of a region went: running, runnable, blocked.

import { ApiError, request } from "./api.mjs";
import { button, h, isSaved, once, tableHead, tableRow } from "./dom.mjs";
import { clock, count, duration, percent, plural } from "./format.mjs";

/**
 * scheduleRows makes the rows of a region's table: what its goroutine did, for how long in all, and
 * how long without the regions that it opened. The longest wait comes first.
 */
export function scheduleRows({ total, self }) {
  const rows = [
    { label: "Running", total: total.running_ns, self: self.running_ns },
    { label: "Runnable", total: total.runnable_ns, self: self.runnable_ns },
  ];
  for (const [reason, ns] of Object.entries(total.blocked_ns).sort((a, b) => b[1] - a[1])) {
    rows.push({ label: `Blocked: ${reason}`, total: ns, self: self.blocked_ns[reason] ?? 0 });
  }
  const whole = rows.reduce((sum, row) => sum + row.total, 0);
  return rows.map((row) => ({ ...row, share: whole > 0 ? row.total / whole : 0 }));
}

/** statesTable shows what spans themselves say of their time. */
export function statesTable({ spans, running_ns: running, runnable_ns: runnable, blocked_ns: blocked }) {
  const whole = running + runnable + blocked || 1;
  return h("div", { class: "schedule" }, h("table", {},
    h("caption", { class: "note" }, `${plural(spans, "span")} of the newest sessions, by what they say of themselves`),
    tableHead(["State"], ["Share", "In all", "A span"]),
    h("tbody", {}, [["Running", running], ["Runnable", runnable], ["Blocked", blocked]]
      .map(([state, ns]) => tableRow([state], [percent(ns / whole), duration(ns), duration(ns / spans)])))));
}

/** scheduleBox makes a button that asks for the last seconds, and room for the answer. */
export function scheduleBox(regionOf) {
  const answer = h("div", { role: "status" });
  const ask = button("Where did the time go?", { onclick: once(async () => {
    const { name, scope } = regionOf();
    try {
      const path = `regions/schedule?${new URLSearchParams({ name, scope })}`;
      answer.replaceChildren(...tables(await request(path)));
    } catch (err) {
      answer.replaceChildren(h("p", { class: "bad" }, err instanceof ApiError ? err.message : "No answer"));
    }
  }) });
  return h("div", { class: "schedule" }, ask, answer);
}

export function tables(report) {
  const window = isSaved() ? `the trace of ${duration(report.window_ns)}` : `the ${duration(report.window_ns)} until ${clock(report.taken)}`;
  if (!report.regions.length) return [h("p", { class: "note" }, `No span of this name began and ended within ${window}.`)];
  return report.regions.map((region) => h("table", {},
    h("caption", { class: "note" }, `${plural(region.count, "span")} in ${window}, by what the goroutine did`),
    tableHead(["State"], ["Share", "In all", "A span", "Self"]),
    h("tbody", {}, scheduleRows(region).map((row) => tableRow([row.label],
      [percent(row.share), duration(row.total), duration(row.total / region.count), duration(row.self)])))),
  ).concat(left(report));
}

function left({ open, partial, moved }) {
  const parts = [[open, "still open"], [partial, "begun before"], [moved, "ended on another goroutine"]]
    .filter(([n]) => n > 0).map(([n, what]) => `${count(n)} ${what}`);
  return parts.length ? [h("p", { class: "note" }, `Not counted, of all names: ${parts.join(", ")}.`)] : [];
}

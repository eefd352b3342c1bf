// The experiments of a plan as lanes, marks and cells of a table. No access to the page.

import { change, duration, percent } from "./format.mjs";

/** laneName is the row of an experiment: its region, with its scope if two have one name. */
export function laneName(timeline, e) {
  if (e.speedup === 0) return "nothing delayed";
  const region = timeline.regions[e.region];
  if (!region) return "all regions longer";
  const twice = timeline.regions.filter((r) => r.span === region.span).length > 1;
  return twice && region.scope ? `${region.span} (${region.scope})` : region.span;
}

/** latest are the last n experiments, and where their picture begins and ends: now, unless that is long after. */
export function latest(timeline, n, now = Date.now()) {
  const shown = timeline.experiments.slice(-n);
  const last = shown.at(-1);
  const started = new Date(timeline.started).getTime();
  const end = new Date(timeline.ended ?? 0).getTime();
  const over = ((end > 0 ? end : now) - started) * 1e6;
  const all = !last || (shown.length === timeline.experiments.length && timeline.earlier === 0);
  const from = all ? 0 : shown[0].at_ns;
  const measured = last ? last.at_ns + last.settled_ns + last.took_ns : 0;
  const to = Math.max(measured, Math.min(over, measured + 0.12 * (measured - from)), 1e9);
  return { shown, all, from, to, isNow: over <= to };
}

/** lanesOf are the rows of the picture, the one without delay first. */
export function lanesOf(timeline, shown) {
  const order = (e) => (e.speedup === 0 ? -2 : e.region);
  return [...new Set([...shown].sort((a, b) => order(a) - order(b)).map((e) => laneName(timeline, e)))];
}

const signs = { started: "▶", stopped: "■", expired: "■", spent: "■", withheld: "■", aborted: "▲", panicked: "▲" };

/** marksOf are what happened to this plan, from the audit. */
export function marksOf(timeline, audit) {
  const started = new Date(timeline.started).getTime();
  return (audit ?? []).map((e) => ({ ...e, ms: new Date(e.time).getTime() - started }))
    .filter((e) => e.plan_hash === timeline.plan_hash && signs[e.kind] && e.ms >= -1000)
    .map((e) => ({ at_ns: Math.max(0, e.ms) * 1e6, bad: signs[e.kind] === "▲", text: `${signs[e.kind]} ${e.kind}`, why: e.message ?? "" }));
}

const isLatency = (timeline, point) => timeline.progress[point].type === "latency";

/** valueOf is what is drawn at a progress point: visits per second, or a latency in ns; 0 for none. */
export function valueOf(timeline, e, point) {
  const ns = e.values_ns[point];
  return isLatency(timeline, point) || ns === 0 ? ns : 1e9 / ns;
}

/** valueText writes it: "412 /s", "12.3 ms". */
export function valueText(timeline, value, point) {
  if (!(value > 0)) return "–";
  return isLatency(timeline, point) ? duration(value) : `${+value.toPrecision(3)} /s`;
}

/** valueName names what is drawn. */
export const valueName = (p) => (p.type === "latency" ? `latency p${p.quantiles?.[0] ?? 50} of ${p.span}` : `${p.span} per second`);

/** medianWithout is the median value of the experiments without delay that count, 0 for none. */
export function medianWithout(timeline, shown, point) {
  const values = shown.filter((e) => e.speedup === 0 && !e.rejected).map((e) => valueOf(timeline, e, point)).filter((v) => v > 0).sort((a, b) => a - b);
  return values[values.length >> 1] ?? 0;
}

/** keptText says how many experiments there are, are shown and kept. */
export function keptText(timeline, shown) {
  const all = timeline.earlier + timeline.experiments.length;
  const rejected = shown.filter((e) => e.rejected).length;
  return [shown.length < all ? `the last ${shown.length} of ${all} experiments` : `${all} experiment${all === 1 ? "" : "s"}`,
    timeline.earlier > 0 && `the last ${timeline.experiments.length} are kept`,
    rejected > 0 && `${rejected} do${rejected === 1 ? "es" : ""} not count`].filter(Boolean).join("; ");
}

/** cells are one experiment in words, by column. */
export function cells(timeline, e, point, base) {
  const value = valueOf(timeline, e, point);
  const against = e.speedup > 0 && base > 0 && value > 0 ? ` (${change(value / base - 1)})` : "";
  return [laneName(timeline, e), e.speedup > 0 ? percent(e.speedup) : "–", duration(e.took_ns), valueText(timeline, value, point) + against,
    duration(e.delay_ns), e.rejected ? `does not count: ${e.rejected}` : "counts"];
}

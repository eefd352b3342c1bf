// What limits a plan, and how near it is, in words. No access to the page.

import { count, duration, parseDuration, percent } from "./format.mjs";

/** parsePercent reads what plan.Percent writes, NaN if it cannot. */
export const parsePercent = (text) => (/^[\d.e+-]+%$/.test(text ?? "") ? parseFloat(text) / 100 : NaN);

/** gauges are what is used of each limit; part is NaN where none is known. */
export function gauges(status) {
  const all = [];
  const total = parseDuration(status.limits?.total);
  all.push({ label: "Spent", part: status.spent_ns / total, text: total > 0 ? `${duration(status.spent_ns)} of ${duration(total)} (${percent(status.spent_ns / total)})` : duration(status.spent_ns) });
  const runs = ["running", "waiting"].includes(status.state);
  const duty = parsePercent(status.limits?.duty);
  if (runs && duty > 0) all.push({ label: "Delay now", part: (status.duty ?? 0) / duty, text: `${percent(status.duty ?? 0)} of each processor, at most ${percent(duty)}` });
  const b = status.breaker;
  if (!b) return all;
  if (!(b.most_p99_ns > 0)) {
    if (runs) all.push({ label: "Breaker", part: b.base_roots / b.min_roots, text: `learns what is normal: ${count(b.base_roots)} of ${count(b.min_roots)} requests. Until then nothing is delayed` });
    return all;
  }
  const verdict = b.roots >= b.min_roots ? "" : `; no verdict with ${count(b.roots)} of ${count(b.min_roots)} requests in ${b.window}`;
  all.push(
    { label: "Breaker: p99", part: b.p99_ns / b.most_p99_ns, text: `${duration(b.p99_ns)}, was ${duration(b.base_p99_ns)}, opens above ${duration(b.most_p99_ns)}${verdict}` },
    { label: "Breaker: failed", part: b.failed / b.most_failed, text: `${percent(b.failed)}, was ${percent(b.base_failed)}, opens above ${percent(b.most_failed)}` },
  );
  return all;
}

/** endOf is when a plan ends, in ms: when it says, or when the longest life that is allowed is over. */
export function endOf(plan, { state, since, allowed }) {
  const most = Math.max(Date.parse(since), Date.parse(plan.not_before) || 0) + parseDuration(allowed?.life) / 1e6;
  return Math.min(Date.parse(plan.expires_at), ["running", "waiting"].includes(state) && most > 0 ? most : Infinity);
}

/** levelOf is of a gauge that is full, or nearly. */
export const levelOf = (part) => (part > 1 ? "over" : part >= 0.8 ? "high" : "");

// What a wait was for, and who ended it, in words. No access to the page.

import { duration, percent } from "./format.mjs";

// By kind: what was waited for, and what the one that ended it did.
const words = {
  lock: ["lock", "held by"],
  "wait group": ["other goroutines", "the last was"],
  condition: ["condition", "signalled by"],
  "channel send": ["room in a channel", "made by"],
  "channel receive": ["channel", "sent by"],
  select: ["one of several channels", "by"],
  network: ["network"],
  sleep: ["sleep"],
  "system call": ["system call"],
  processor: ["a processor"],
  runtime: ["a stop of all goroutines"],
  "garbage collection": ["garbage collection"],
  running: ["running"],
  other: ["something else", "ended by"],
};

/** placeOf leaves the path of a package out: "main.(*stock).take:49". */
export const placeOf = (where) => where?.slice(where.lastIndexOf("/") + 1) ?? "";

/** whatOf names what was waited for: "lock at main.take:49". */
export function whatOf({ kind, where }) {
  const [what] = words[kind] ?? [kind];
  return where ? `${what} at ${placeOf(where)}` : what;
}

/** byOf names who ended it: "held last by POST /orders", "" for something outside of the program. */
export function byOf({ kind, by, by_where: place }) {
  const name = (typeof by === "object" ? by.span : by) || placeOf(place);
  if (!name) return "";
  return `${words[kind]?.[1] ?? "ended by"} ${name}`;
}

/** waitText is one wait in a line. */
export const waitText = (w) => [whatOf(w), byOf(w), duration(w.for_ns)].filter(Boolean).join(", ");

/** recordedText says of which part of a session waits are known. */
export function recordedText(part) {
  if (part > 0.999) return "All of it was recorded.";
  if (part > 0) return `Recorded for ${percent(part)} of its time: waits of spans that began before are not known.`;
  return "Not known: it was not recorded. Recordings take 3 s, once in one to five minutes.";
}

/** sumWaits puts the waits of a session's spans together that are alike, the longest first. */
export function sumWaits(spans) {
  const sums = new Map();
  for (const [index, span] of spans.entries()) {
    for (const w of span.waits ?? []) {
      const key = `${whatOf(w)}\n${byOf(w)}`;
      const sum = sums.get(key) ?? { what: whatOf(w), by: byOf(w), count: 0, ns: 0, longest: 0, span: index };
      sum.count++;
      sum.ns += w.for_ns;
      if (w.for_ns > sum.longest) [sum.longest, sum.span] = [w.for_ns, index];
      sums.set(key, sum);
    }
  }
  return [...sums.values()].sort((a, b) => b.ns - a.ns || a.what.localeCompare(b.what));
}

/** tailRows makes the rows of why the slowest requests are slow: what explains a fiftieth or more. */
export function tailRows({ parts, slow_ns: slow, typical_ns: typical, region }) {
  return parts.map((p) => ({
    what: whatOf(p), by: byOf(p), in: p.in.span === region.span && p.in.scope === region.scope ? "" : p.in.span,
    slow: p.slow_ns, typical: p.typical_ns, share: slow > typical ? (p.slow_ns - p.typical_ns) / (slow - typical) : 0,
    without: slow - p.slow_ns + p.typical_ns,
  })).filter((row) => row.share >= 0.02);
}

/** waitRows makes the rows of a region's table: the longest, and what is left in one row. */
export function waitRows({ waits, time_ns: time, region }, most = 8) {
  const row = (w) => ({
    what: whatOf(w), by: byOf(w), title: [w.where, w.by_where && `ended at ${w.by_where}`].filter(Boolean).join("\n"),
    in: w.in.span === region.span && w.in.scope === region.scope ? "" : w.in.span,
    share: time > 0 ? w.total_ns / time : 0, total: w.total_ns, count: w.count, longest: w.longest_ns,
  });
  const rows = waits.slice(0, most).map(row);
  const rest = waits.slice(most);
  if (rest.length > 0) {
    const sum = (of) => rest.reduce((n, w) => n + of(w), 0);
    const total = sum((w) => w.total_ns);
    rows.push({
      what: `${rest.length} more`, by: "", title: "", in: "", share: time > 0 ? total / time : 0, total,
      count: sum((w) => w.count), longest: Math.max(...rest.map((w) => w.longest_ns)),
    });
  }
  return rows;
}

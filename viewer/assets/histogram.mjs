// The distribution of one region's durations, on a logarithmic axis, and the same as a table.

import { h, svg, tableHead, tableRow } from "./dom.mjs";
import { count, duration, percent } from "./format.mjs";

const height = 132;
const base = 96;

/**
 * histogram draws bins that stand side by side, and marks values: [["p50", ns], …]. Bins of another
 * time or run, if there are any, are a line over them: { bins, label, now }.
 */
export function histogram(bins, marks, other = null) {
  const width = Math.min(520, window.innerWidth - 60); // where it is narrow, fewer pixels and not smaller letters
  const sides = [bins, ...(other?.bins.length ? [other.bins] : [])];
  if (bins.length === 0) return h("p", { class: "muted" }, "No distribution to draw.");
  const lo = Math.log(Math.max(Math.min(...sides.map((s) => s[0].low_ns)), 1));
  const hi = Math.log(Math.max(...sides.map((s) => s.at(-1).high_ns + 1), 2));
  const x = (ns) => ((Math.log(Math.max(ns, 1)) - lo) / (hi - lo || 1)) * width;
  // Bins are not equally wide on this axis, so areas and not heights stand for parts of the whole.
  const total = (side) => side.reduce((sum, b) => sum + b.count, 0);
  const density = (b, whole) => b.count / whole / (Math.log(b.high_ns + 1) - Math.log(Math.max(b.low_ns, 0.5)));
  const most = Math.max(...sides.flatMap((s) => s.map((b) => density(b, total(s)))));
  // The square root keeps the rare and long ones visible beside the many short ones.
  const top = (b, whole) => base - (b.count ? Math.max(1.5, Math.sqrt(density(b, whole) / most) * (base - 22)) : 0);
  const root = svg("svg", {
    class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Distribution of ${count(total(bins))} durations from ${duration(bins[0].low_ns)} to ${duration(bins.at(-1).high_ns)}${other ? `, over that of ${other.label}` : ""}. The table has the numbers.`,
  });
  for (const b of bins) {
    if (b.count === 0) continue;
    const from = x(b.low_ns);
    const y = top(b, total(bins));
    root.append(svg("rect", { class: "bin", x: from, y, width: Math.max(1, x(b.high_ns + 1) - from - 1), height: base - y },
      svg("title", {}, `${duration(b.low_ns)} … ${duration(b.high_ns + 1)}: ${count(b.count)}`)));
  }
  if (sides[1]) {
    const steps = sides[1].map((b) => `V${top(b, total(sides[1])).toFixed(1)}H${x(b.high_ns + 1).toFixed(1)}`).join("");
    root.append(svg("path", { class: "bin-line", d: `M${x(sides[1][0].low_ns).toFixed(1)} ${base}${steps}V${base}` }));
  }
  root.append(svg("line", { class: "axis", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }));
  let last = -Infinity; // where there is no room for the next time
  for (const ns of decades(lo, hi)) {
    root.append(svg("line", { class: "axis", x1: x(ns), x2: x(ns), y1: base, y2: base + 4 }));
    const at = Math.min(Math.max(x(ns), 20), width - 24);
    if (at - last < 46) continue;
    root.append(svg("text", { class: "tick", x: at, y: base + 17, "text-anchor": "middle" }, duration(ns)));
    last = at;
  }
  for (const [name, ns] of marks) {
    const at = x(ns);
    const end = at > width - 60;
    root.append(svg("line", { class: "mark-line", x1: at, x2: at, y1: 4, y2: base }),
      svg("text", { class: "mark-text", x: at + (end ? -4 : 4), y: 12, "text-anchor": end ? "end" : "start" }, name));
  }
  return h("figure", {}, root, h("figcaption", { class: "muted" },
    "Logarithmic in time; the height is the square root of the density.", other && ` Bars are ${other.now}, the line is ${other.label}.`),
  asTable(sides, other));
}

/** asTable has a row for each bin, and how much is not longer than it. */
function asTable(sides, other) {
  const low = new Map(sides.flat().map((b) => [b.low_ns, b]));
  const rows = [...low.values()].sort((a, b) => a.low_ns - b.low_ns);
  const columns = sides.map((side) => {
    const whole = side.reduce((sum, b) => sum + b.count, 0);
    const counts = new Map(side.map((b) => [b.low_ns, b.count]));
    let sum = 0;
    return (b) => {
      sum += counts.get(b.low_ns) ?? 0;
      return [count(counts.get(b.low_ns) ?? 0), percent(sum / whole)];
    };
  });
  const head = other ? [other.now, other.label] : ["Count"];
  return h("details", {}, h("summary", {}, "Distribution as a table"), h("div", { class: "scroll" }, h("table", { class: "bins" },
    tableHead([], ["From", "To", ...sides.flatMap((_, i) => [head[i], "Up to here"])]),
    h("tbody", {}, rows.map((b) => tableRow([], [duration(b.low_ns), duration(b.high_ns + 1), ...columns.flatMap((c) => c(b))]))))));
}

/** decades returns 1, 10, 100 … inside the axis, or with 2 and 5 between if they are few. */
function decades(lo, hi) {
  const some = [];
  for (let p = Math.floor(lo / Math.LN10); p <= hi / Math.LN10; p++) {
    for (const m of hi - lo < 2.5 * Math.LN10 ? [1, 2, 5] : [1]) some.push(m * 10 ** p);
  }
  return some.filter((ns) => Math.log(ns) >= lo && Math.log(ns) <= hi);
}

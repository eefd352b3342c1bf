// The distribution of one region's durations, on a logarithmic axis.

import { h, svg } from "./dom.mjs";
import { count, duration } from "./format.mjs";

const height = 132;
const base = 96;

/** histogram draws bins that stand side by side, and marks values: [["p50", ns], …]. */
export function histogram(bins, marks) {
  const width = Math.min(520, window.innerWidth - 60); // where it is narrow, fewer pixels and not smaller letters
  if (bins.length === 0) return h("p", { class: "muted" }, "No distribution to draw.");
  const lo = Math.log(Math.max(bins[0].low_ns, 1));
  const hi = Math.log(Math.max(bins.at(-1).high_ns + 1, 2));
  const x = (ns) => ((Math.log(Math.max(ns, 1)) - lo) / (hi - lo || 1)) * width;
  // Bins are not equally wide on this axis, so areas and not heights stand for counts.
  const density = (b) => b.count / (Math.log(b.high_ns + 1) - Math.log(Math.max(b.low_ns, 0.5)));
  const most = Math.max(...bins.map(density));
  const total = bins.reduce((sum, b) => sum + b.count, 0);
  const root = svg("svg", {
    class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Distribution of ${count(total)} durations from ${duration(bins[0].low_ns)} to ${duration(bins.at(-1).high_ns)}`,
  });
  for (const b of bins) {
    if (b.count === 0) continue;
    // The square root keeps the rare and long ones visible beside the many short ones.
    const tall = Math.max(1.5, Math.sqrt(density(b) / most) * (base - 22));
    const from = x(b.low_ns);
    root.append(svg("rect", { class: "bin", x: from, y: base - tall, width: Math.max(1, x(b.high_ns + 1) - from - 1), height: tall },
      svg("title", {}, `${duration(b.low_ns)} … ${duration(b.high_ns + 1)}: ${count(b.count)}`)));
  }
  root.append(svg("line", { class: "axis", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }));
  decades(lo, hi).forEach((ns) => root.append(
    svg("line", { class: "axis", x1: x(ns), x2: x(ns), y1: base, y2: base + 4 }),
    svg("text", { class: "tick", x: Math.min(Math.max(x(ns), 20), width - 24), y: base + 17, "text-anchor": "middle" }, duration(ns))));
  for (const [name, ns] of marks) {
    const at = x(ns);
    const end = at > width - 60;
    root.append(svg("line", { class: "mark-line", x1: at, x2: at, y1: 4, y2: base }),
      svg("text", { class: "mark-text", x: at + (end ? -4 : 4), y: 12, "text-anchor": end ? "end" : "start" }, name));
  }
  return h("figure", {}, root, h("figcaption", { class: "muted" }, "Logarithmic in time; the height is the square root of the density."));
}

/** decades returns 1, 10, 100 … inside the axis, or with 2 and 5 between if they are few. */
function decades(lo, hi) {
  const some = [];
  for (let p = Math.floor(lo / Math.LN10); p <= hi / Math.LN10; p++) {
    for (const m of hi - lo < 2.5 * Math.LN10 ? [1, 2, 5] : [1]) some.push(m * 10 ** p);
  }
  return some.filter((ns) => Math.log(ns) >= lo && Math.log(ns) <= hi);
}

// The picture of one progress point's causal curves.

import { svg } from "./dom.mjs";
import { bounds, measured } from "./curves.mjs";
import { change, percent } from "./format.mjs";
import { linear, spread, ticks } from "./scale.mjs";

/** drawnCurves is how many curves a picture has at most. */
export const drawnCurves = 6;
const narrow = 560; // below this width the table names the curves
const labelWidth = 190;

// Shapes around the origin, of equal weight: curves differ by shape, dashes and colour.
const shapes = [
  () => svg("circle", { r: 4.2 }),
  () => svg("rect", { x: -3.8, y: -3.8, width: 7.6, height: 7.6 }),
  () => svg("path", { d: "M0-5.2 4.8 3.6H-4.8Z" }),
  () => svg("path", { d: "M0-5.4 5.4 0 0 5.4-5.4 0Z" }),
  () => svg("path", { d: "M0 5.2 4.8-3.6H-4.8Z" }),
  () => svg("path", { d: "M-4.5-1.6h2.9v-2.9h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9z" }),
];
const dashes = [null, "7 4", "2 3.5", "9 3 2 3", "4 4", "12 4"];

/** marker returns the sign of curve i as a picture of its own. */
export function marker(i) {
  return svg("svg", { class: `marker c${i}`, viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" }, shape(i));
}

function shape(i, x = 0, y = 0) {
  const el = shapes[i % shapes.length]();
  el.setAttribute("class", "point");
  el.setAttribute("transform", `translate(${x} ${y})`);
  return el;
}

/** plot draws the curves of one progress point, {curve, index} each, in a width in pixels. */
export function plot(data, drawn, width) {
  const labelled = width >= narrow;
  const height = labelled ? Math.min(400, Math.max(300, width * 0.36)) : 280;
  const box = { left: 62, right: width - (labelled ? labelWidth : 14), top: 16, bottom: height - 46 };
  const range = bounds({ curves: drawn.map((d) => d.curve) });
  const room = 0.06 * (range.hi - range.lo);
  const [lo, hi] = [range.lo - room, range.hi + room];
  const x = linear(0, range.x, box.left, box.right - 10);
  const y = linear(lo, hi, box.bottom, box.top);
  const clamp = (v) => Math.min(Math.max(v, box.top), box.bottom);
  const root = svg("svg", {
    class: "plot", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Predicted change of the throughput of ${data.progress} by speed-up, for ${drawn.map((d) => d.curve.label).join(", ")}. The table has the same numbers.`,
  });
  frame(root, box, x, y, [lo, hi], range.x, drawn);
  const ends = [];
  for (const { curve, index } of drawn) {
    const points = measured(curve);
    const line = [[x(0), y(0)], ...points.map((p) => [x(p.speedup), clamp(y(p.gain))])];
    const upper = points.map((p) => [x(p.speedup), p.hi === null ? box.top : clamp(y(p.hi))]);
    const lower = points.map((p) => [x(p.speedup), p.lo === null ? box.top : clamp(y(p.lo))]);
    const group = svg("g", { class: `curve c${index}` },
      svg("path", { class: "band", d: `${path([line[0], ...upper, ...lower.toReversed()])}Z` }),
      svg("path", { class: "line", d: path(line), "stroke-dasharray": dashes[index % dashes.length] }));
    points.forEach((p, i) => {
      const at = x(p.speedup) + 3 * (index - (drawn.length - 1) / 2); // intervals stand side by side
      group.append(svg("g", {},
        svg("title", {}, `${curve.label}, ${percent(p.speedup)} faster: ${change(p.gain)} (${change(p.lo)} … ${change(p.hi)}), n = ${p.samples}`),
        svg("path", { class: "interval", d: `M${at} ${lower[i][1]}V${upper[i][1]}m-3 0h6M${at - 3} ${lower[i][1]}h6` }),
        shape(index, at, line[i + 1][1])));
    });
    root.append(group);
    ends.push({ curve, index, at: line.at(-1) });
  }
  if (labelled) labels(root, ends, box);
  return root;
}

function frame(root, box, x, y, [lo, hi], maxX, drawn) {
  for (const v of ticks(lo, hi, 5)) {
    root.append(svg("line", { class: v === 0 ? "zero" : "grid", x1: box.left, x2: box.right, y1: y(v), y2: y(v) }),
      svg("text", { class: "tick", x: box.left - 8, y: y(v) + 4, "text-anchor": "end" }, v === 0 ? "0 %" : change(v).replace(".0 %", " %")));
  }
  const speedups = [...new Set([0, ...drawn.flatMap((d) => measured(d.curve).map((p) => p.speedup))])];
  for (const v of speedups.length <= 8 ? speedups : ticks(0, maxX, 6)) {
    root.append(svg("line", { class: "axis", x1: x(v), x2: x(v), y1: box.bottom, y2: box.bottom + 4 }),
      svg("text", { class: "tick", x: x(v), y: box.bottom + 18, "text-anchor": "middle" }, percent(v)));
  }
  root.append(
    svg("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    svg("text", { class: "axis-name", x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle" }, "if the region were this much faster"),
    svg("text", { class: "axis-name", transform: `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "throughput"));
}

/** labels names each curve at its end, moved apart where ends are close. */
function labels(root, ends, box) {
  const at = spread(ends.map((e) => e.at[1]), 18, box.top + 4, box.bottom - 4);
  ends.forEach(({ curve, index, at: [endX, endY] }, i) => {
    const from = endX + 12;
    root.append(svg("g", { class: `curve c${index}` },
      svg("path", { class: "leader", d: `M${from} ${endY}L${box.right + 8} ${at[i]}` }),
      svg("text", { class: "curve-name", x: box.right + 12, y: at[i] + 4 }, shorten(curve.label), svg("title", {}, curve.label))));
  });
}

const shorten = (text) => (text.length > 25 ? `${text.slice(0, 24)}…` : text);

const path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");

// The picture of one question: a curve with its interval for each mode.

import { svg } from "./dom.mjs";
import { bounds, isThroughput, measured, modes } from "./curves.mjs";
import { metricName, numberText } from "./causalwords.mjs";
import { change, percent } from "./format.mjs";
import { linear, ticks } from "./scale.mjs";

// Modes differ by shape, dashes and colour, each of which is enough.
const shapes = {
  slowdown: () => svg("circle", { r: 4.2 }),
  overlap: () => svg("rect", { x: -3.8, y: -3.8, width: 7.6, height: 7.6 }),
  dilation: () => svg("path", { d: "M0-5.2 4.8 3.6H-4.8Z" }),
  replay: () => svg("path", { d: "M0-5 5 0 0 5-5 0Z" }),
};
const dashes = { slowdown: null, overlap: "6 2", dilation: "2 3.5", replay: "1 3" };
const order = Object.keys(modes);
const colour = (mode) => `c${Math.max(0, order.indexOf(mode))}`;

function shape(mode, x = 0, y = 0) {
  const el = (shapes[mode] ?? shapes.replay)();
  el.setAttribute("class", "point");
  el.setAttribute("transform", `translate(${x} ${y})`);
  return el;
}

/** marker returns a mode's sign, with a piece of its line, as a picture of its own. */
export function marker(mode) {
  return svg("svg", { class: `marker curve ${colour(mode)}`, viewBox: "-17 -7 34 14", width: 34, height: 14, "aria-hidden": "true" },
    svg("path", { class: "line", d: "M-17 0H17", "stroke-dasharray": dashes[mode] }), shape(mode));
}

/** plot draws the curves of a question in a width in pixels. */
export function plot(question, width) {
  const range = bounds(question);
  const height = Math.min(300, Math.max(220, width * 0.48));
  const box = { left: 58, right: width - 12, top: 22, bottom: height - 42 };
  const room = 0.06 * (range.hi - range.lo);
  const [lo, hi] = [range.lo - room, range.hi + room];
  const x = linear(0, range.x, box.left, box.right - 10);
  const y = linear(lo, hi, box.bottom, box.top);
  const at = (v) => Math.min(Math.max(v === null ? box.top : y(v), box.top), box.bottom);
  const drawn = question.curves.filter((c) => measured(c).length > 0);
  const root = svg("svg", {
    class: "plot", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Predicted change of ${metricName(question.metric)} of ${question.progress} by speed-up of ${question.label}, by ${drawn.map((c) => c.mode).join(", ")}. The table has the same numbers.`,
  });
  frame(root, box, x, y, [lo, hi], question, drawn);
  drawn.forEach((curve, i) => {
    const points = measured(curve);
    const line = [[x(0), y(0)], ...points.map((p) => [x(p.speedup), at(p.change)])];
    const upper = points.map((p) => [x(p.speedup), at(p.hi)]);
    const lower = points.map((p) => [x(p.speedup), at(p.lo)]);
    const group = svg("g", { class: `curve ${colour(curve.mode)}` },
      svg("path", { class: "band", d: `${path([line[0], ...upper, ...lower.toReversed()])}Z` }),
      svg("path", { class: "line", d: path(line), "stroke-dasharray": dashes[curve.mode] }));
    points.forEach((p, k) => {
      const px = x(p.speedup) + 4 * (i - (drawn.length - 1) / 2); // intervals stand side by side
      group.append(svg("g", {},
        svg("title", {}, `${curve.mode}, ${percent(p.speedup)} faster: ${numberText(p)}, n = ${p.samples}`),
        svg("path", { class: "interval", d: `M${px} ${lower[k][1]}V${upper[k][1]}m-3 0h6M${px - 3} ${lower[k][1]}h6` }),
        ...(p.loose ? [] : [shape(curve.mode, px, line[k + 1][1])])));
    });
    if (curve.knee > 0) group.append(knee(curve, x(curve.knee), box, i));
    root.append(group);
  });
  return root;
}

/** knee marks where a curve flattens. */
function knee(curve, at, box, i) {
  return svg("g", {},
    svg("path", { class: "knee", d: `M${at} ${box.top - 4}V${box.bottom}` }),
    svg("text", { class: "knee-name", x: at + 5, y: box.top + 5 + 15 * i }, `knee ${percent(curve.knee)}`));
}

function frame(root, box, x, y, [lo, hi], question, drawn) {
  for (const v of ticks(lo, hi, 4)) {
    root.append(svg("line", { class: v === 0 ? "zero" : "grid", x1: box.left, x2: box.right, y1: y(v), y2: y(v) }),
      svg("text", { class: "tick", x: box.left - 7, y: y(v) + 4, "text-anchor": "end" }, v === 0 ? "0 %" : change(v).replace(".0 %", " %")));
  }
  let last = -Infinity; // where there is no room for the next number
  for (const v of [...new Set([0, ...drawn.flatMap((c) => measured(c).map((p) => p.speedup))])].sort((a, b) => a - b)) {
    root.append(svg("line", { class: "axis", x1: x(v), x2: x(v), y1: box.bottom, y2: box.bottom + 4 }));
    if (x(v) - last < 34) continue;
    root.append(svg("text", { class: "tick", x: x(v), y: box.bottom + 17, "text-anchor": "middle" }, percent(v)));
    last = x(v);
  }
  root.append(
    svg("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    svg("text", { class: "axis-name", x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle" }, "if the region were this much faster"),
    svg("text", { class: "axis-name", x: 2, y: 11 }, isThroughput(question.metric) ? "throughput" : metricName(question.metric)));
}

const path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");

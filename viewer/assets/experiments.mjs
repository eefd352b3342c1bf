// The experiments of a plan on wall time: what ran when, at which speed-up, and what came of it.

import { h, keyed, setText, svg } from "./dom.mjs";
import { cells, keptText, laneName, lanesOf, latest, marksOf, medianWithout, valueName, valueOf, valueText } from "./experimentwords.mjs";
import { clock, duration } from "./format.mjs";
import { linear, ticks } from "./scale.mjs";

const [top, lane, gap, dots, axis] = [22, 22, 20, 92, 24]; // heights in pixels
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800]; // seconds between two times of day

/** experimentsBox makes the section. Its picture is drawn anew when something has changed. */
export function experimentsBox(context) {
  const note = h("span", { class: "muted" });
  const size = h("select", { onchange: () => { context.remember({ x: size.value }); draw(); } },
    [50, 200, 500].map((n) => h("option", { value: n, selected: String(n) === (context.query.get("x") ?? "200") }, `the last ${n}`)));
  const point = h("select", { onchange: () => draw() });
  const pointLabel = h("label", {}, "Beneath ", point);
  const holder = h("div", { class: "scroll experiments-plot", tabindex: "0" });
  const body = h("tbody");
  const valueHead = h("span");
  const heads = ["Began", "Region", "Faster", "Measured", valueHead, "Delay", "Result"];
  const table = h("details", { class: "experiment", ontoggle: () => draw() }, h("summary", {}, "As a table, the newest first"),
    h("div", { class: "scroll experiments-table", tabindex: "0" }, h("table", { class: "effects" },
      h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", class: kind(i) }, text)))), body)));
  const el = h("section", { class: "experiments", "aria-label": "Experiments", hidden: true },
    h("header", { class: "toolbar" }, h("h2", {}, "Experiments"), h("label", {}, "Show ", size), pointLabel, note), holder, legend(), table);

  let data = null;
  let shown = "";
  const observer = new ResizeObserver(() => draw());
  observer.observe(holder);

  function draw() {
    if (!data) return;
    const { timeline, audit, runs } = data;
    const at = Math.max(0, point.selectedIndex);
    const view = latest(timeline, Number(size.value));
    view.point = at;
    view.base = medianWithout(timeline, view.shown, at);
    setText(note, keptText(timeline, view.shown));
    holder.replaceChildren(picture(timeline, view, marksOf(timeline, audit), Math.max(560, holder.clientWidth - 28), runs));
    if (!table.open) return;
    setText(valueHead, valueName(timeline.progress[at]));
    keyed(body, view.shown.toReversed(), (e) => e.at_ns, () => row(timeline));
    for (const part of body.keyedParts.values()) part.show(view);
  }

  return {
    el,
    close: () => observer.disconnect(),
    render(timeline, status) {
      el.hidden = timeline.experiments.length === 0;
      const runs = ["running", "waiting"].includes(status.state);
      const now = JSON.stringify([timeline, status.audit, runs]);
      if (el.hidden || now === shown) return;
      shown = now;
      if (data?.timeline.started !== timeline.started) { // another plan
        point.replaceChildren(...timeline.progress.map((p) => h("option", {}, valueName(p))));
        keyed(body, []);
      }
      pointLabel.hidden = timeline.progress.length < 2;
      data = { timeline, audit: status.audit, runs };
      draw();
    },
  };
}

const kind = (column) => (column > 1 && column < 6 ? "number" : "text");

function row(timeline) {
  const fields = Array.from({ length: 7 }, (_, i) => h("td", { class: kind(i) }));
  let e = null;
  return {
    el: h("tr", {}, fields),
    update: (latest) => { e = latest; },
    show({ point, base }) {
      const began = clock(new Date(timeline.started).getTime() + (e.at_ns + e.settled_ns) / 1e6, true);
      [began, ...cells(timeline, e, point, base)].forEach((text, i) => setText(fields[i], text));
      fields[6].classList.toggle("withheld", Boolean(e.rejected));
    },
  };
}

function legend() {
  const item = (name, ...shapes) => h("span", {}, svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, shapes), name);
  return h("p", { class: "legend" },
    item("the taller, the larger the speed-up", box(2, 6, 7, 8), box(11, 1, 7, 13)),
    item("nothing delayed", box(4, 4, 14, 9, "none")), item("does not count", hatched(4, 2, 14, 11)),
    item("settles", svg("path", { class: "x-settle", d: "M2 12H20" })),
    item("what was counted, delays taken off", dot(6, 7), dot(16, 7, "none")));
}

const box = (x, y, width, height, none = "") => svg("rect", { class: `x-bar ${none}`, x, y, width, height });
const dot = (cx, cy, none = "") => svg("circle", { class: `x-dot ${none}`, cx, cy, r: 2.7 });
const text = (x, y, anchor, ...content) => svg("text", { class: "tick", x, y, "text-anchor": anchor }, ...content);
const title = (words) => svg("title", {}, words);

/** hatched is a box with an outline and strokes through it. */
function hatched(x, y, width, height) {
  let d = `M${x} ${y}h${width}v${height}h${-width}z`;
  for (let at = 4; at < width + height; at += 5) {
    const [a, b] = [Math.max(0, at - height), Math.min(width, at)];
    d += `M${x + a} ${y + at - a}L${x + b} ${y + at - b}`;
  }
  return svg("path", { class: "x-rejected", d });
}

function picture(timeline, view, marks, width, runs) {
  const lanes = lanesOf(timeline, view.shown);
  const [left, right] = [Math.min(190, width * 0.24), width - 10];
  const bottom = top + lanes.length * lane;
  const foot = bottom + gap + dots;
  const x = linear(view.from, view.to, left, right);
  const root = svg("svg", {
    class: "experiments-svg", width, height: foot + axis, role: "img",
    "aria-label": `Timeline of ${keptText(timeline, view.shown)}: ${lanes.join(", ")}. The table has the same.`,
  });
  lanes.forEach((name, i) => {
    const y = top + i * lane;
    root.append(svg("path", { class: "grid", d: `M0 ${y + lane - 0.5}H${right}` }), svg("text", { class: "x-lane", x: 0, y: y + 15 }, cut(name, left), title(name)));
  });
  const first = view.shown[0];
  if (view.all && first) {
    root.append(svg("rect", { class: "x-warmup", x: left, y: top, width: x(first.at_ns) - left, height: bottom - top },
      title(`${duration(first.at_ns)} to learn what is normal`)));
    if (x(first.at_ns) - left > 62) root.append(text(left + 6, top + 15, "start", "warm-up"));
  }
  const most = Math.max(...view.shown.map((e) => e.speedup));
  for (const e of view.shown) root.append(bar(timeline, e, top + lanes.indexOf(laneName(timeline, e)) * lane + lane - 2, view, x, most));
  beneath(root, timeline, view, x, { left, right, top: bottom + gap, bottom: foot });
  for (const m of marks.filter((k) => k.at_ns >= view.from)) {
    const at = Math.min(x(m.at_ns), right);
    const late = at > width - 90;
    root.append(svg("g", { class: m.bad ? "x-mark bad" : "x-mark" }, title(`${m.text} ${m.why}`), svg("path", { d: `M${at} 4V${foot}` }),
      svg("text", { x: at + (late ? -4 : 4), y: 12, "text-anchor": late ? "end" : "start" }, m.text)));
  }
  if (runs && view.isNow) root.append(svg("path", { class: "x-now", d: `M${right} ${top}V${foot}` }));
  times(root, timeline, view, x, foot, width);
  return root;
}

function bar(timeline, e, y, view, x, most) {
  const from = x(e.at_ns + e.settled_ns);
  const wide = Math.max(1.2, x(e.at_ns + e.settled_ns + e.took_ns) - from - 0.6);
  const tall = e.speedup > 0 ? 5 + (12 * e.speedup) / most : 9;
  return svg("g", {}, title(`${cells(timeline, e, view.point, view.base).join(" · ")} · settled for ${duration(e.settled_ns)}`),
    svg("path", { class: "x-settle", d: `M${x(e.at_ns)} ${y - 1}H${from}` }),
    e.rejected ? hatched(from, y - tall, wide, tall) : box(from, y - tall, wide, tall, e.speedup > 0 ? "" : "none"));
}

/** beneath draws what was counted in each experiment, at its place in time. */
function beneath(root, timeline, { shown, point, base }, x, area) {
  root.append(svg("text", { class: "x-lane", x: 0, y: area.top - 6 }, cut(valueName(timeline.progress[point]), area.left + 120)));
  const values = shown.map((e) => [e, valueOf(timeline, e, point)]).filter(([, v]) => v > 0);
  if (values.length === 0) return root.append(text(area.left, area.top + 20, "start", "no visit yet"));
  const all = values.map(([, v]) => v).sort((a, b) => a - b);
  // Single ones that lie far off are drawn at the edge: they must not press the others flat.
  const [least, most] = [all[Math.floor(0.02 * all.length)], all[Math.ceil(0.98 * all.length) - 1]];
  const room = Math.max((most - least) * 0.15, most * 0.05);
  const [lo, hi] = [Math.max(0, least - room), most + room];
  const y = linear(lo, hi, area.bottom - 4, area.top + 4);
  const inside = (v) => Math.min(Math.max(y(v), area.top + 2), area.bottom - 2);
  for (const v of ticks(lo, hi, 4)) {
    root.append(svg("path", { class: "grid", d: `M${area.left} ${y(v)}H${area.right}` }), text(area.left - 6, y(v) + 4, "end", v > 0 ? valueText(timeline, v, point) : "0"));
  }
  if (base > 0) root.append(svg("path", { class: "x-base", d: `M${area.left} ${inside(base)}H${area.right}` }));
  for (const [e, v] of values) {
    const at = x(e.at_ns + e.settled_ns + e.took_ns / 2);
    root.append(e.rejected ? svg("path", { class: "x-rejected", d: `M${at - 2.5} ${inside(v) - 2.5}l5 5m0-5l-5 5` }) : dot(at, inside(v), e.speedup > 0 ? "" : "none"));
  }
}

function times(root, timeline, view, x, y, width) {
  const started = new Date(timeline.started).getTime() / 1000;
  const step = steps.find((s) => (view.to - view.from) / 1e9 / s <= (width - 200) / 92) ?? 3600;
  for (let t = Math.ceil((started + view.from / 1e9) / step) * step; (t - started) * 1e9 <= view.to; t += step) {
    const at = x((t - started) * 1e9);
    root.append(svg("path", { class: "axis", d: `M${at} ${y}v4` }));
    if (at < width - 30) root.append(text(at, y + 17, "middle", clock(t * 1000)));
  }
}

/** cut shortens a name to about so many pixels. */
const cut = (name, width) => (name.length * 6.6 <= width - 8 ? name : `${name.slice(0, Math.max(3, Math.floor((width - 8) / 6.6) - 1))}…`);

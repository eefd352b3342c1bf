// The call stacks of two runs over each other, and the functions whose own share of the time changed most.

import { h, numberCells, setAttr, setText, swap, tableHead } from "./dom.mjs";
import { flameGraph } from "./flamegraph.mjs";
import { change, count, percent, plural } from "./format.mjs";
import { functionsOf, overlay } from "./overlay.mjs";

const most = 20; // functions in the table

/** paint gives a call red for more of the time and blue for less, the fuller the more, and none for what chance does. */
function paint(el, { shares: { was, is, clear } }) {
  setAttr(el, "data-change", clear ? (is > was ? "more" : "less") : "none");
  el.style.setProperty("--by", `${Math.round(10 + (30 * Math.abs(is - was)) / Math.max(was, is, 1e-12))}%`);
}

const points = (part) => change(part).replace("%", "points");
const saidOf = ({ was, is, clear }) => `${percent(was)} → ${percent(is)}, ${points(is - was)}${clear ? "" : ", within chance"}`;

/** stackChanges makes the part of the view. */
export function stackChanges() {
  const flame = flameGraph({
    label: "Flame graph of both runs", of: "of the time, the mean of both,", paint,
    said: (node) => saidOf(node.shares), describe: (node) => `${saidOf(node.shares)}; ${plural(node.samples, "sample")}`,
    drawn: (hidden) => setText(thin, hidden > 0 ? `${plural(hidden, "call")} too thin to draw.` : ""),
  });
  const thin = h("span", {});
  const facts = h("p", { class: "note" });
  const rows = h("tbody");
  const more = h("p", { class: "note" });
  const pair = (label) => [`${label}, baseline`, "Candidate", "Change"];
  const table = h("div", { class: "scroll", tabindex: 0 }, h("table", {}, h("caption", { class: "visually-hidden" }, "Functions whose own share of the time changed most"),
    tableHead(["Function"], [...pair("Self"), ...pair("With calls")]), rows));
  const graph = h("div", {}, h("div", { class: "toolbar" }, flame.search, flame.out, flame.found), flame.graph, flame.facts,
    h("p", { class: "note" }, "Width: the mean share of both. Red takes more of the time in the candidate, blue less; grey is within chance (95 %). ", thin), table, more);
  const el = h("section", { class: "stack-changes", "aria-label": "Call stacks", hidden: true }, h("h2", {}, "Call stacks"), facts, graph);

  const cells = ([was, is]) => numberCells([percent(was), percent(is), points(is - was)]);
  const row = (f) => h("tr", {}, h("th", { scope: "row", class: "text" }, f.func), cells(f.self), cells(f.whole));

  return {
    el,
    /** show draws two trees, either null where a run has none. */
    show(trees, names) {
      el.hidden = !trees.some(Boolean);
      graph.hidden = !trees.every(Boolean);
      setText(facts, trees.map((t, i) => `${names[i]}: ${t ? `${plural(t.samples, "sample")}${t.too_few ? `, too few: below ${count(t.min_samples)} shares mean little` : ""}` : "no call stacks"}.`).join(" "));
      if (graph.hidden) return;
      flame.show(overlay(...trees));
      const clear = functionsOf(...trees).filter((f) => f.clear);
      table.hidden = clear.length === 0;
      swap(rows, ...clear.slice(0, most).map(row));
      setText(more, clear.length === 0 ? "No function's own share changed by more than chance does."
        : clear.length > most ? `${plural(clear.length - most, "further function")} changed less.` : "");
    },
    key: flame.key,
    back: flame.back,
  };
}

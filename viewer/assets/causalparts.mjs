// The parts of the causal view: the rows of the ranking, and the pictures with their tables.

import { isThroughput, measured, modes } from "./curves.mjs";
import { baseText, disagreement, interval, metricName, nextStep, reasons, verdictText } from "./causalwords.mjs";
import { button, copyButton, h, numberCells } from "./dom.mjs";
import { change, count, percent, points } from "./format.mjs";
import { marker, plot } from "./plot.mjs";

export const signs = { helps: "▲", mixed: "▲▼", unclear: "≈", little: "≈", none: "≈", hurts: "▼", withheld: "–" };

const modeName = (mode) => h("span", { class: "mode-name", title: modes[mode] }, marker(mode), mode);
const disagrees = () => h("span", { class: "badge warn" }, "≠ modes disagree");
const questionText = (q) => `${metricName(q.metric)} of ${q.progress}`;

/** ranking is the table's head and a body for keyed; columns are the speed-ups shown. */
export function ranking(columns) {
  return h("table", { class: "ranking" },
    h("caption", { class: "visually-hidden" }, "What each region would bring if it were faster, the best first"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "If this region"), h("th", { scope: "col", class: "text" }, "By"),
      columns.map((s) => h("th", { scope: "col", class: "number" }, `${percent(s)} faster`)),
      h("th", { scope: "col", class: "text" }, "Verdict"))));
}

/** rankingRow is one question: a line for each mode, and one more where they disagree. */
export function rankingRow(columns, show) {
  return (first) => {
    let shown = "";
    let now = first;
    const name = button("", { class: "row-name", "data-row": true, onclick: () => show(now) });
    const el = h("tbody");
    return {
      el,
      update(q) {
        now = q;
        const state = JSON.stringify([q, columns]);
        if (state === shown) return;
        shown = state;
        name.replaceChildren(h("span", { class: "name-text" }, q.label));
        name.disabled = q.answer.verdict === "withheld"; // there is no picture to show
        const words = disagreement(q);
        const head = h("th", { scope: "rowgroup", rowspan: q.curves.length, class: "text region" }, name,
          q.disagree && disagrees(),
          h("span", { class: "muted of" }, questionText(q)));
        el.replaceChildren(...q.curves.map((c, i) => modeLine(c, columns, i === 0 && head, q.state)),
          ...(words ? [h("tr", { class: "why" }, h("td", { colspan: columns.length + 3 }, h("p", { class: "disagreement" }, words)))] : []));
      },
    };
  };
}

function modeLine(curve, columns, head, state) {
  return h("tr", { class: "line", data: { verdict: curve.verdict } }, head,
    h("td", { class: "text mode" }, modeName(curve.mode)),
    columns.map((s) => cell(curve.points.find((p) => p.speedup === s))),
    h("td", { class: "text verdict" }, h("span", { class: "words" }, `${signs[curve.verdict]} ${verdictText(curve)}`),
      reasons(curve).map((why) => h("span", { class: "withheld" }, why)), nextStep(curve, state) && h("span", { class: "muted next-step" }, nextStep(curve, state))));
}

function cell(p) {
  if (!p || p.withheld) return h("td", { class: "number muted", title: p ? p.withheld.text : "not asked" }, "–");
  return h("td", { class: "number" }, !p.loose && h("strong", {}, change(p.change)), h("span", { class: "muted range" }, interval(p)));
}

/** figure is a question with numbers, as a picture and a table. draw makes the picture as wide as there is room. */
export function figure() {
  const holder = h("div", { class: "plot-holder" });
  const head = h("header");
  const legend = h("p", { class: "legend" });
  const aside = h("div", { class: "scroll", tabindex: "0" });
  const el = h("article", { class: "progress", tabindex: "-1" }, head, h("div", { class: "plot-and-table" }, h("div", {}, legend, holder), aside));
  let shown = "";
  let width = 0;
  let question = null;

  function draw(force) {
    const room = Math.floor(holder.clientWidth);
    if (!question || room <= 0 || (room === width && !force)) return;
    width = room;
    holder.replaceChildren(plot(question, width));
  }

  return {
    el, draw,
    update(q) {
      const state = JSON.stringify(q);
      if (state === shown) return;
      shown = state;
      question = q;
      head.replaceChildren(h("h3", {}, question.label, question.disagree && disagrees(),
        h("span", { class: "muted base" }, [questionText(question), baseText(question)].filter(Boolean).join(": "))));
      legend.replaceChildren(...question.curves.filter((c) => measured(c).length > 0).map((c) => modeName(c.mode)));
      aside.replaceChildren(effects(question));
      draw(true);
    },
  };
}

/** effects are all numbers of a question. */
function effects(q) {
  const speedups = [...new Set(q.curves.flatMap((c) => c.points.map((p) => p.speedup)))].sort((a, b) => a - b);
  const head = ["Faster", "By", isThroughput(q.metric) ? "Throughput" : metricName(q.metric), "Std. error", "95 % interval", "n", "Outliers"];
  const all = q.curves.flatMap((c) => c.points.map((p) => [c, p]));
  const doubts = group(all.flatMap(([c, p]) => p.warnings.map((w) => [`${c.mode}: ${w}`, percent(p.speedup)])));
  const missing = group(all.filter(([, p]) => p.withheld).map(([c, p]) => [`${c.mode} withheld: ${p.withheld.text}`, percent(p.speedup)]));
  return h("div", {}, h("table", { class: "effects" },
    h("caption", { class: "visually-hidden" }, `All numbers of ${q.label}`),
    h("thead", {}, h("tr", {}, head.map((t, i) => h("th", { scope: "col", class: i === 1 ? "text" : "number" }, t)))),
    speedups.map((s) => h("tbody", {}, q.curves.map((c) => [c, c.points.find((p) => p.speedup === s)]).filter(([, p]) => p).map(([c, p], i) => h("tr", {},
      h("th", { scope: "row", class: i ? "number again" : "number" }, percent(s)), h("td", { class: "text" }, modeName(c.mode)),
      h("td", { class: "number" }, p.withheld || p.loose ? "–" : h("strong", {}, change(p.change))),
      numberCells([p.withheld || p.loose ? "–" : points(p.error), p.withheld ? "–" : interval(p), count(p.samples), p.withheld ? "–" : count(p.outliers)])))))),
  (missing.length > 0 || doubts.length > 0) && h("ul", { class: "doubts" }, missing.map((t) => h("li", { class: "withheld" }, t)), doubts.map((t) => h("li", {}, t))));
}

/** group says equal texts once: "at 10 %, 25 %: text". */
function group(pairs) {
  const at = new Map();
  for (const [text, where] of pairs) at.set(text, [...(at.get(text) ?? []), where]);
  return [...at].map(([text, where]) => `${text} (${where.join(", ")})`);
}

/** command is a command in a box, to copy. */
export function command(text) {
  return h("div", { class: "command" }, h("pre", { tabindex: "0" }, text), copyButton("Copy", () => text));
}

// The moment that regions are compared from, and what a comparison looks like. The process keeps
// nothing of it: the page has the readings, as long as it is open.

import { ApiError, request } from "./api.mjs";
import { binsOf, changesOf, comparedRanks, effectWords, figuresOf, idOf, meanChange, windowOf } from "./compare.mjs";
import { button, h, numberCells, once, setText, tableHead } from "./dom.mjs";
import { change, clock, count, duration } from "./format.mjs";
import { histogram } from "./histogram.mjs";

// A mark has the time at and the readings, by region. The window since the mark is compared with
// that before it, which reaches back to the start: the mark before, or null for the process's.
let mark = null;
let start = null;

/** currentMark changes with every mark; null while nothing is compared. */
export const currentMark = () => mark;

/** meanChangeOf is how a region's mean changed at the mark; undefined if that is not known. */
export function meanChangeOf(region) {
  return mark ? meanChange(start?.readings.get(idOf(region)), mark.readings.get(idOf(region)), region) : undefined;
}

/** compareBar makes the buttons that set and remove the mark; changed is called after each. */
export function compareBar(changed) {
  const said = h("span", { role: "status" });
  const set = button("", { onclick: once(async () => {
    try {
      const { regions, since } = await request("regions?buckets=1");
      [start, mark] = [mark?.since === since ? mark : null, { at: new Date(), since, readings: new Map(regions.map((r) => [idOf(r), r])) }];
      draw();
      changed();
    } catch (err) {
      setText(said, err instanceof ApiError ? err.message : "No answer");
    }
  }) });
  const stop = button("Stop comparing", { class: "quiet", onclick: () => {
    start = mark = null;
    draw();
    changed();
    set.focus();
  } });
  function draw() {
    setText(set, mark ? "Mark again" : "Compare from now");
    setText(said, mark ? `Since ${clock(mark.at)}, against ${spell()}` : "");
    stop.hidden = !mark;
  }
  draw();
  return {
    el: h("span", { class: "compare-bar" }, set, stop, said), set: () => set.click(),
    /** check drops the mark if the process, and with it the counting, has begun anew. */
    check(since) {
      if (!mark || mark.since === since) return;
      start = mark = null;
      draw();
      setText(said, "The process began anew: the mark is gone.");
    },
  };
}

const spell = () => (start ? `${clock(start.at)} to ${clock(mark.at)}` : "all before");

/** comparison shows the two windows of a region, of which now is the latest reading. */
export function comparison(now) {
  const [from, at] = [start?.readings.get(idOf(now)) ?? null, mark.readings.get(idOf(now))];
  const windows = at ? [windowOf(from, at), windowOf(at, now)] : [null, null];
  const names = [start ? `${clock(start.at)} … ${clock(mark.at)}` : `until ${clock(mark.at)}`, "since"];
  return h("div", { class: "comparison" }, h("h3", {}, "Before and since the mark"), at && !windows.includes(null)
    ? sideBySide(windows, names, now.relative_error)
    : h("p", { class: "note" }, at ? "The process began anew after the mark: mark again." : "This region is new since the mark."));
}

/** sideBySide draws two windows over each other, and puts their figures into a table. */
export function sideBySide(windows, names, relativeError) {
  const [before, after] = windows.map(figuresOf);
  const changes = changesOf(before, after, relativeError);
  const row = (label, a, b, changed = "") => h("tr", {}, h("th", { scope: "row", class: "text" }, label), numberCells([a, b, changed]));
  const durations = (label, a, b, c) => row(label, before.count ? duration(a) : "–", after.count ? duration(b) : "–", changeText(c));
  return [
    after.count > 0 && histogram(binsOf(windows[1]), [], { bins: binsOf(windows[0]), label: names[0], now: names[1] }),
    h("div", { class: "scroll" }, h("table", {},
      tableHead(["Figure"], [...names, "Change"]),
      h("tbody", {},
        comparedRanks.map((p, i) => durations(`p${p}`, before.percentiles[i], after.percentiles[i], changes.percentiles[i])),
        durations("Mean", before.mean, after.mean, changes.mean),
        durations("Std deviation", before.deviation, after.deviation),
        row("Count", count(before.count), count(after.count)),
        row("Errors", count(before.errors), count(after.errors))))),
    h("p", {}, "Cohen's d ", h("strong", {}, effectNumber(changes.d)), ` · ${effectWords(changes)}`),
    h("p", { class: "note" }, "The difference of the means in standard deviations: around 0.2 is small, 0.8 large, negative is faster. ", errorText(relativeError)),
  ].filter(Boolean);
}

/** errorText says which changes of percentiles the histogram's rounding can make. */
export const errorText = (relativeError) => (relativeError > 0
  ? `Percentiles are within ${+(100 * relativeError).toPrecision(1)} %: changes of them up to ${+(200 * relativeError).toPrecision(1)} %, marked ≈, say nothing.` : "");

/** changeText writes a change, with ≈ before one that says nothing. */
export const changeText = (c) => (c && Number.isFinite(c.part) ? `${c.within ? "≈ " : ""}${change(c.part)}` : "–");

/** effectNumber writes Cohen's d. */
export function effectNumber(d) {
  if (Number.isNaN(d)) return "–";
  const text = Number.isFinite(d) ? Math.abs(d).toFixed(2) : "∞";
  return d < 0 && text !== "0.00" ? `−${text}` : text;
}

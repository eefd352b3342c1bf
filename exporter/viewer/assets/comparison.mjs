// The moment that regions are compared from, and what a comparison looks like. The process keeps
// nothing of it: the page has the readings, as long as it is open.

import { ApiError, request } from "./api.mjs";
import { comparedRanks, effectOf, effectWords, figuresOf, idOf, meanChange, relativeChange, windowOf } from "./compare.mjs";
import { button, h, setText } from "./dom.mjs";
import { change, clock, count, duration } from "./format.mjs";

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
  let asking = false; // a disabled button would lose the focus
  const set = button("", { onclick: async () => {
    if (asking) return;
    asking = true;
    try {
      const { regions } = await request("regions?buckets=1");
      [start, mark] = [mark, { at: new Date(), readings: new Map(regions.map((r) => [idOf(r), r])) }];
      draw();
      changed();
    } catch (err) {
      setText(said, err instanceof ApiError ? err.message : "No answer");
    }
    asking = false;
  } });
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
  return { el: h("span", { class: "compare-bar" }, set, stop, said), set: () => set.click() };
}

const spell = () => (start ? `${clock(start.at)} to ${clock(mark.at)}` : "all before");

/** comparison shows the two windows of a region, of which now is the latest reading. */
export function comparison(now) {
  const [from, at] = [start?.readings.get(idOf(now)) ?? null, mark.readings.get(idOf(now))];
  const windows = at ? [windowOf(from, at), windowOf(at, now)] : [null, null];
  return h("div", { class: "comparison" }, h("h3", {}, "Before and since the mark"), at && !windows.includes(null)
    ? table(...windows.map(figuresOf), now)
    : h("p", { class: "note" }, at ? "The process began anew after the mark: mark again." : "This region is new since the mark."));
}

function table(before, after, now) {
  const row = (label, a, b, changed = "") => h("tr", {}, h("th", { scope: "row", class: "text" }, label),
    [a, b, changed].map((text) => h("td", { class: "number" }, text)));
  const durations = (label, a, b) => {
    const known = before.count > 0 && after.count > 0;
    const part = relativeChange(a, b);
    return row(label, before.count ? duration(a) : "–", after.count ? duration(b) : "–", known && Number.isFinite(part) ? change(part) : "–");
  };
  const d = effectOf(before, after);
  return [
    h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "Figure"),
        [start ? `${clock(start.at)} … ${clock(mark.at)}` : `Until ${clock(mark.at)}`, "Since", "Change"]
          .map((text) => h("th", { scope: "col", class: "number" }, text)))),
      h("tbody", {},
        comparedRanks.map((p, i) => durations(`p${p}`, before.percentiles[i], after.percentiles[i])),
        durations("Mean", before.mean, after.mean),
        durations("Std deviation", before.deviation, after.deviation),
        row("Count", count(before.count), count(after.count)),
        row("Errors", count(before.errors), count(after.errors))))),
    h("p", {}, "Cohen's d ", h("strong", {}, effectNumber(d)), ` · ${effectWords(d)}`),
    h("p", { class: "note" }, "The difference of the means in standard deviations: around 0.2 is small, 0.8 large, negative is faster. ",
      now.relative_error > 0 && `Changes of percentiles below ${+(200 * now.relative_error).toPrecision(1)} % say nothing. `,
      "Two saved runs are compared by ", h("code", {}, "otelprof hdr diff"), "."),
  ];
}

function effectNumber(d) {
  if (Number.isNaN(d)) return "–";
  const text = Number.isFinite(d) ? Math.abs(d).toFixed(2) : "∞";
  return d < 0 && text !== "0.00" ? `−${text}` : text;
}

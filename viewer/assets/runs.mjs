// The view of saved runs: one beside another, region by region.

import { request } from "./api.mjs";
import { changesOf, effectWords, figuresOf, idOf, windowOf } from "./compare.mjs";
import { changeText, effectNumber, errorText, sideBySide } from "./comparison.mjs";
import { button, empty, h, keyed, setAttr, setText } from "./dom.mjs";
import { count, duration, plural } from "./format.mjs";
import { compare, header } from "./regions.mjs";
import { stackChanges } from "./stackchanges.mjs";

const columns = [
  { key: "name", label: "Region", text: true, value: (p) => p.name.toLowerCase() },
  { key: "count", label: "Count", value: (p) => p.after?.count ?? -1, show: (p) => both(p, (f) => count(f.count)) },
  { key: "mean", label: "Mean", value: (p) => p.after?.mean ?? -1, show: (p) => both(p, (f) => duration(f.mean)) },
  { key: "change", label: "Δ mean", value: (p) => size(p.changes?.mean.part), show: (p) => changeText(p.changes?.mean) },
  ...["p50", "p90", "p99"].map((label, i) => ({
    key: label, label: `Δ ${label}`, value: (p) => size(p.changes?.percentiles[i].part), show: (p) => changeText(p.changes?.percentiles[i]),
  })),
  { key: "d", label: "Cohen's d", value: (p) => size(p.changes?.d), show: (p) => (p.changes ? `${effectNumber(p.changes.d)} · ${effectWords(p.changes)}` : p.note) },
];

const size = (v) => (Number.isNaN(v ?? NaN) ? -1 : Math.abs(v));
const both = ({ before, after }, of) => [before, after].map((f) => (f?.count ? of(f) : "–")).join(" → ");

export function runsView(context) {
  const { query } = context;
  const answers = new Map(); // runs do not change: each is asked for once
  let runs = [];
  let pairs = [];
  let error = 0;
  let sort = columns.some((c) => c.key === query.get("sort")) ? query.get("sort") : "d";
  let up = query.get("up") === "1";
  const choose = () => { context.remember({ a: from.value, b: to.value }); context.refresh(); };
  const from = h("select", { onchange: choose });
  const to = h("select", { onchange: choose });
  const swap = button("Swap", { onclick: () => { [from.value, to.value] = [to.value, from.value]; choose(); } });
  const filter = h("input", { type: "search", placeholder: "Filter regions", "aria-label": "Filter regions", "data-filter": true,
    value: query.get("q") ?? "", oninput: () => { context.remember({ q: filter.value }); draw(); } });
  const headers = columns.map((c) => header(c, () => {
    up = sort === c.key ? !up : Boolean(c.text);
    sort = c.key;
    context.remember({ sort: sort === "d" ? "" : sort, up });
    draw();
  }));
  const stacks = stackChanges();
  const shown = h("p", { class: "note", role: "status" });
  const note = h("p", { class: "note" });
  const table = h("table", { class: "regions runs", "data-marked": true }, h("caption", { class: "visually-hidden" }, "Regions of two runs, and how they differ"),
    h("thead", {}, h("tr", {}, headers.map((x) => x.el))));
  const content = h("div", {}, h("div", { class: "toolbar" }, h("label", {}, "Baseline ", from), h("label", {}, "Candidate ", to), swap, filter),
    shown, h("div", { class: "scroll" }, table), note, stacks.el);
  const none = empty("There is only one run", "Give otelprof view two files or folders, one for each run:", h("pre", {}, "otelprof view -compare BASELINE CANDIDATE"));
  const el = h("section", { "aria-label": "Compare" }, h("h1", { class: "visually-hidden" }, "Compare runs"), content, none);
  content.hidden = none.hidden = true;

  function draw() {
    const wanted = filter.value.trim().toLowerCase();
    const rows = pairs.filter((p) => `${p.name}\n${p.scope}`.toLowerCase().includes(wanted));
    const { value } = columns.find((c) => c.key === sort);
    rows.sort((a, b) => compare(value(a), value(b)) * (up ? 1 : -1) || compare(a.id, b.id));
    for (const x of headers) x.update(sort, up);
    keyed(table, rows, (p) => p.id, pairRow, 2); // behind the caption and the head
    const many = (is) => count(pairs.filter((p) => p.changes && is(p.changes)).length);
    const tail = (c) => c.percentiles.at(-1).part;
    setText(shown, `Of ${plural(pairs.length, "region")} ${many((c) => c.clear && c.d > 0)} are clearly slower and ${many((c) => c.clear && c.d < 0)} clearly faster (Cohen's d of 0.2 or more, and beyond chance); ${
      ""}p99 is 10 % or more longer in ${many((c) => tail(c) >= 0.1)} and shorter in ${many((c) => tail(c) <= -0.1)}.`);
    setText(note, `Changes are from baseline to candidate; negative is faster. ${errorText(error)} Cohen's d is the difference of the means in standard deviations. A row opens its distributions.`);
  }

  return {
    title: "Compare",
    el,
    async load(signal) {
      if (runs.length === 0) ({ runs } = await request("runs", { signal }));
      if (runs.length < 2) return [];
      if (from.options.length === 0) {
        for (const s of [from, to]) s.append(...runs.map((r, i) => h("option", { value: i }, r.name)));
        const known = (v, instead) => (runs[v] ? v : String(instead));
        [from.value, to.value] = [known(query.get("a"), 0), known(query.get("b"), runs.length - 1)];
      }
      return Promise.all([from.value, to.value].map(async (n) => {
        if (!answers.has(n)) {
          const { tree = null } = runs[n].samples > 0 ? await request(`runs/${n}/stacks`, { signal }) : {};
          answers.set(n, { ...await request(`runs/${n}/regions?buckets=1`, { signal }), tree });
        }
        return answers.get(n);
      }));
    },
    render(sides) {
      none.hidden = sides.length > 0;
      content.hidden = sides.length === 0;
      if (sides.length === 0) return;
      error = Math.max(...sides.map((s) => s.relative_error));
      const names = [from, to].map((s) => s.selectedOptions[0].textContent);
      pairs = pairsOf(...sides.map((s) => s.regions), names);
      draw();
      stacks.show(sides.map((s) => s.tree), names);
    },
    key: stacks.key,
    back() { if (stacks.back()) return; filter.value = ""; context.remember({ q: "" }); draw(); },
  };
}

/** pairsOf joins the regions of two runs by name; one of the two may lack it. */
export function pairsOf(baseline, candidate, names) {
  const old = new Map(baseline.map((r) => [idOf(r), r]));
  const ids = [...new Set([...candidate, ...baseline].map(idOf))];
  const now = new Map(candidate.map((r) => [idOf(r), r]));
  return ids.map((id) => {
    const sides = [old.get(id), now.get(id)];
    const windows = sides.map((r) => r && windowOf(null, r));
    const [before, after] = windows.map((w) => w && figuresOf(w));
    const error = Math.max(...sides.map((r) => r?.relative_error ?? 0));
    const { name, scope } = sides[1] ?? sides[0];
    return {
      id, name, scope, windows, before, after, error, names: [names[0], names[1]],
      changes: before && after ? changesOf(before, after, error) : null, note: before ? "only in the baseline" : "only in the candidate",
    };
  });
}

/** pairRow is one table body: the row, and below it the distributions while it is open. */
function pairRow(first) {
  let pair = first;
  let isOpen = false;
  const name = h("span", { class: "name-text", title: first.scope ? `scope ${first.scope}` : null }, first.name);
  const toggle = h("button", { type: "button", class: "row-name", "aria-expanded": "false", "data-row": true, onclick: flip }, name);
  const cells = columns.filter((c) => c.show).map((c) => [c, h("td", { class: `number col-${c.key}` })]);
  const inside = h("td", { colspan: columns.length });
  const detail = h("tr", { class: "detail", hidden: true }, inside);
  const row = h("tr", { class: "region-row", onclick: (e) => { if (!e.target.closest("button") && !getSelection().toString()) flip(); } },
    h("td", { class: "text" }, toggle), cells.map(([, td]) => td));

  function flip() {
    isOpen = !isOpen;
    setAttr(toggle, "aria-expanded", String(isOpen));
    setAttr(row, "data-open", isOpen || null);
    detail.hidden = !isOpen;
    fill();
  }

  function fill() {
    if (!isOpen) return;
    inside.replaceChildren(h("div", { class: "plot-box comparison" }, pair.changes
      ? sideBySide(pair.windows, pair.names, pair.error) : h("p", { class: "note" }, `It is ${pair.note}.`)));
  }

  return {
    el: h("tbody", {}, row, detail),
    update(latest) {
      const other = latest !== pair;
      pair = latest;
      for (const [c, td] of cells) setText(td, c.show(pair));
      setAttr(row, "data-told", pair.changes?.clear ? (pair.changes.d < 0 ? "faster" : "slower") : null);
      if (other) fill();
    },
  };
}

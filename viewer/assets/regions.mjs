// The view of all regions: what is slow, and where the time goes.

import { request } from "./api.mjs";
import { command } from "./causalparts.mjs";
import { idOf } from "./compare.mjs";
import { changeText, compareBar, comparison, currentMark, meanChangeOf } from "./comparison.mjs";
import { button, empty, h, isSaved, keyed, setAttr, setText, swap } from "./dom.mjs";
import { amount, count, duration, percent, plural } from "./format.mjs";
import { histogram } from "./histogram.mjs";
import { scheduleBox, statesTable } from "./schedule.mjs";
import { regionTails, regionWaits } from "./waits.mjs";

const percentiles = [["p50", "p50"], ["p90", "p90"], ["p99", "p99"], ["p999", "p99.9"]]; // in the answer and on the page

const columns = [
  { key: "name", label: "Region", text: true, value: (r) => r.name.toLowerCase() },
  { key: "count", label: "Count", value: (r) => r.count, show: (r) => count(r.count) },
  { key: "errors", label: "Errors", value: (r) => r.errors },
  { key: "self", label: "Self time", value: (r) => r.self_ns },
  ...percentiles.map(([key, label]) => ({ key, label, value: (r) => r[`${key}_ns`], show: (r) => known(r, r[`${key}_ns`]) })),
  { key: "max", label: "Max", value: (r) => r.max_ns, show: (r) => known(r, r.max_ns) },
  { key: "change", label: "Δ mean", value: (r) => meanChangeOf(r) ?? -Infinity, show: (r) => changeText({ part: meanChangeOf(r) }) },
  { key: "pmu", label: "On the CPU", value: (r) => onCPU(r.pmu)[0], show: (r) => onCPU(r.pmu)[1] },
];

/** onCPU is a region's work as a number and as text: instructions per cycle, or CPU time per span. */
export function onCPU(pmu) {
  if (!pmu?.means.length) return [-1, ""];
  if (pmu.ipc !== undefined) return [pmu.ipc, `${pmu.ipc.toFixed(2)} IPC`];
  const { mean, unit } = pmu.means[0];
  return [mean, amount(mean, unit)];
}

export function regionsView(context) {
  const state = {
    sort: columns.some((c) => c.key === context.query.get("sort")) ? context.query.get("sort") : "self",
    up: context.query.get("up") === "1",
    filter: context.query.get("q") ?? "",
    data: null,
    asked: context.query.has("q"), // a link to one region opens it
  };
  const headers = columns.map((c) => header(c, () => {
    state.up = state.sort === c.key ? !state.up : Boolean(c.text);
    state.sort = c.key;
    remember();
    draw();
  }));
  const filter = h("input", {
    type: "search", placeholder: "Filter regions", "aria-label": "Filter regions", "data-filter": true,
    value: state.filter, oninput: () => { state.filter = filter.value; remember(); draw(); },
  });
  const cards = h("div", { class: "cards" });
  const note = h("p", { class: "note" });
  const shown = h("span", { class: "muted" });
  const bar = isSaved() ? null : compareBar(() => draw()); // what is over has no now
  const bodies = h("table", { class: "regions" },
    h("caption", { class: "visually-hidden" }, "Regions with counts, self time and latency percentiles"),
    h("thead", {}, h("tr", {}, headers.map((x) => x.el))));
  const content = h("div", {}, cards, h("div", { class: "toolbar" }, filter, shown, bar?.el), h("div", { class: "scroll" }, bodies), note);
  const nothing = noRegion();
  const el = h("section", { "aria-label": "Regions" }, h("h1", { class: "visually-hidden" }, "Regions"), content, nothing);
  content.hidden = nothing.hidden = true;

  function remember() {
    context.remember({ q: state.filter, sort: state.sort === "self" ? "" : state.sort, up: state.up });
  }

  function draw() {
    if (!state.data) return;
    const { regions } = state.data;
    nothing.hidden = regions.length > 0;
    content.hidden = regions.length === 0;
    const wanted = state.filter.trim().toLowerCase();
    const rows = regions.filter((r) => `${r.name}\n${r.scope}\n${r.kind}`.toLowerCase().includes(wanted));
    const { value } = columns.find((c) => c.key === state.sort);
    rows.sort((a, b) => compare(value(a), value(b)) * (state.up ? 1 : -1) || compare(idOf(a), idOf(b)));
    for (const x of headers) x.update(state.sort, state.up);
    const widest = Math.max(...regions.map((r) => r.self_share), 1e-9);
    keyed(bodies, rows, idOf, regionRow, 2); // behind the caption and the head
    for (const part of bodies.keyedParts.values()) part.scale(widest);
    const [only] = state.asked ? (rows.length > 1 ? rows.filter((r) => r.name === state.filter && r.scope === (context.query.get("scope") ?? r.scope)) : rows) : [];
    if (only) bodies.keyedParts.get(idOf(only)).show();
    state.asked = false;
    setText(shown, wanted ? `${count(rows.length)} of ${plural(regions.length, "region")}` : plural(regions.length, "region"));
    setAttr(bodies, "data-marked", currentMark() !== null || null);
    setAttr(bodies, "data-counted", regions.some((r) => r.pmu) || null);
    setText(note, footnote(state.data));
    drawCards(cards, state.data, (r) => {
      filter.value = state.filter = "";
      draw();
      bodies.keyedParts.get(idOf(r))?.open();
    });
  }

  return {
    title: "Regions",
    el,
    load: (signal) => request("regions", { signal }),
    render(data) {
      state.data = data;
      bar?.check(data.since);
      draw();
    },
    back() { filter.value = state.filter = ""; remember(); draw(); },
    key(event) {
      if (!bar || event.key !== "m") return false;
      bar.set();
      return true;
    },
  };
}

export const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** noRegion is what stands there before the first span, and says what to do. */
export function noRegion() {
  return isSaved() ? empty("No region in these files", "Regions come from spans, metrics, .hlog files and execution traces.") : empty("No span has ended yet",
    "A region appears here as soon as the first span of its name ends. Send the application a request. If it has served some already, see that its tracer is ours:",
    command("prof, err := otelprof.Setup(ctx)\ntracer := prof.TracerProvider().Tracer(\"shop\")"));
}

/** header makes a column's head, which sorts by it. */
export function header(column, choose) {
  const sign = h("span", { class: "sort-sign", "aria-hidden": "true" });
  const el = h("th", { scope: "col", class: column.text ? "text" : `number col-${column.key}` },
    h("button", { type: "button", class: "sort", onclick: choose }, column.label, sign));
  return {
    el,
    update(sort, up) {
      const chosen = sort === column.key;
      setAttr(el, "aria-sort", chosen ? (up ? "ascending" : "descending") : null);
      setText(sign, chosen ? (up ? " ↑" : " ↓") : "");
    },
  };
}

/** regionRow is one table body: the row, and below it the details while they are open. */
function regionRow(first) {
  const toggle = h("button", { type: "button", class: "row-name", "aria-expanded": "false", "data-row": true, onclick: () => flip() });
  const name = h("span", { class: "name-text" });
  const kind = h("span", { class: "chip" });
  const errors = h("td", { class: "number col-errors" });
  const fill = h("span", { class: "meter-fill" });
  const share = h("span", { class: "share" });
  const total = h("span", { class: "muted total" });
  const cells = columns.filter((c) => c.show).map((c) => ({ c, el: h("td", { class: `number col-${c.key}` }) }));
  const inside = h("div");
  const schedule = document.body.dataset.schedule === "true" && scheduleBox(() => region); // it stays, with its focus
  const detail = h("tr", { class: "detail", hidden: true }, h("td", { colspan: columns.length }, inside, schedule));
  toggle.append(name, kind);
  const own = { // cells that are more than a text
    name: h("td", { class: "text" }, toggle),
    errors,
    self: h("td", { class: "number col-self" }, h("span", { class: "self" }, h("span", { class: "meter", "aria-hidden": "true" }, fill), share, total)),
  };
  const row = h("tr", { class: "region-row", onclick: (e) => { if (!e.target.closest("button") && !getSelection().toString()) flip(); } },
    columns.map((c) => own[c.key] ?? cells.find((x) => x.c === c).el));
  const el = h("tbody", {}, row, detail);
  let region = first;
  let isOpen = false;
  let asking = 0; // only the last answer counts
  let marked = currentMark();

  function flip(to = !isOpen) {
    isOpen = to;
    setAttr(toggle, "aria-expanded", String(isOpen));
    setAttr(row, "data-open", isOpen || null);
    detail.hidden = !isOpen;
    if (isOpen) refresh();
  }

  async function refresh() {
    const asked = region;
    const query = new URLSearchParams({ name: asked.name, scope: asked.scope, scope_version: asked.scope_version ?? "", scope_schema_url: asked.scope_schema_url ?? "", ...(currentMark() && { buckets: 1 }) });
    const mine = ++asking;
    const causal = document.body.dataset.causal === "true";
    const [answer, waits] = await Promise.all([`regions/distribution?${query}`, causal && `regions/waits?${query}`]
      .map((path) => path && request(path).catch(() => null)));
    if (!answer && inside.firstElementChild) return; // what was known stays
    if (isOpen && mine === asking) swap(inside, details(asked, { bins: [], ...answer, waits }));
  }

  return {
    el,
    update(r) {
      const changed = r.count !== region.count || marked !== currentMark();
      marked = currentMark();
      region = r;
      setText(name, r.name);
      name.title = r.scope ? `${r.name}\nscope ${r.scope} ${r.scope_version ?? ""}` : r.name;
      setText(kind, r.kind);
      kind.hidden = r.kind === "internal" || r.kind === "unspecified";
      for (const { c, el: td } of cells) setText(td, c.show(r));
      setText(errors, r.errors ? `✕ ${count(r.errors)} (${percent(r.errors / r.count)})` : "0");
      setAttr(errors, "data-bad", r.errors > 0 || null);
      setText(share, percent(r.self_share));
      setText(total, duration(r.self_ns));
      if (isOpen && changed) refresh();
    },
    scale(widest) { fill.style.setProperty("width", `${(100 * region.self_share) / widest}%`); },
    show: () => flip(true),
    open() {
      flip(true);
      toggle.focus();
      row.scrollIntoView({ block: "center" });
    },
  };
}

/** details show a region with the latest answer about its distribution. */
function details(r, { bins, states, cumulative, waits, ...reading }) {
  const fact = (label, value) => [h("dt", {}, label), h("dd", {}, value)];
  const off = (ns) => r.relative_error > 0 && ns > 0 && h("span", { class: "muted" }, ` ± ${duration(+(ns * r.relative_error).toPrecision(2))}`);
  const compared = currentMark() && cumulative && comparison({ ...reading, cumulative });
  return h("div", { class: "region-detail" },
    h("div", { class: "plot-box" }, h("h2", {}, "Durations"), histogram(bins, [["p50", r.p50_ns], ["p99", r.p99_ns]]), compared, states && statesTable(states)),
    h("dl", { class: "facts" },
      fact("Scope", r.scope ? `${r.scope} ${r.scope_version ?? ""}` : "none"),
      fact("Kind", r.kind),
      fact("Count", count(r.count)),
      fact("Errors", count(r.errors)),
      fact("Self time", `${duration(r.self_ns)} of ${duration(r.total_ns)}`),
      fact("Mean", duration(r.mean_ns)),
      fact("Min … max", `${known(r, r.min_ns)} … ${known(r, r.max_ns)}`),
      percentiles.map(([key, label]) => fact(label, [known(r, r[`${key}_ns`]), off(r[`${key}_ns`])])),
      r.pmu && fact("Counted", `${plural(r.pmu.spans, "span")}${r.pmu.invalid ? `, ${count(r.pmu.invalid)} without result` : ""}; of one, on average:`),
      r.pmu?.means.map((m) => fact(m.name.replaceAll("_", " "), amount(m.mean, m.unit))),
      h("dt", {}), h("dd", {}, h("a", { href: `#/sessions?name=${encodeURIComponent(r.name)}&whole=1` }, "Slowest sessions with it"),
        document.body.dataset.stacks === "true" && [" · ", h("a", { href: `#/stacks/${encodeURIComponent(r.name)}?scope=${encodeURIComponent(r.scope)}` }, "CPU call stacks")])),
    waits && [regionTails(waits), regionWaits(waits)]);
}

/** known writes a percentile; a region that only an execution trace knows has none. */
export const known = (r, ns) => (r.max_ns > 0 || r.count === 0 || r.total_ns === 0 ? duration(ns) : "–");

function drawCards(el, data, openRegion) {
  const { regions } = data;
  const top = regions[0];
  const often = regions.filter((r) => r.count >= 100 && r.p50_ns > 0);
  const tail = best(often.length ? often : regions.filter((r) => r.max_ns > 0), (r) => r.p99_ns / Math.max(r.p50_ns, 1));
  const failing = best(regions.filter((r) => r.errors > 0), (r) => r.errors);
  const list = [
    top && { label: "Most time is spent in", name: top.name, value: `${percent(top.self_share)} of all self time`, go: () => openRegion(top) },
    tail && { label: "Longest tail", name: tail.name, value: `p99 is ${(tail.p99_ns / Math.max(tail.p50_ns, 1)).toFixed(1)} times the median: ${duration(tail.p99_ns)}`, go: () => openRegion(tail) },
    failing ? { label: "Fails most", name: failing.name, value: `✕ ${plural(failing.errors, "error")}, ${percent(failing.errors / failing.count)} of its calls`, go: () => openRegion(failing) }
      : { label: "Fails most", name: "No errors", value: "No span ended with status Error" },
  ].filter(Boolean);
  keyed(el, list, (c) => c.label, card);
}

const best = (list, of) => list.reduce((a, b) => (a === null || of(b) > of(a) ? b : a), null);

function card(first) {
  let now = first;
  const label = h("span", { class: "card-label" });
  const name = h("span", { class: "card-name" });
  const value = h("span", { class: "card-value" });
  const el = button("", { class: "card", onclick: () => now.go?.() }, label, name, value);
  return {
    el,
    update(c) {
      now = c;
      setText(label, c.label);
      setText(name, c.name);
      name.title = c.name;
      setText(value, c.value);
      setAttr(el, "disabled", c.go ? null : "");
    },
  };
}

function footnote(data) {
  const parts = [];
  if (data.relative_error > 0) parts.push(`Percentiles are exact to within ${+(100 * data.relative_error).toPrecision(1)} %.`);
  parts.push("Self time is the part of a span's duration in which none of its children was open.");
  const counted = data.regions.find((r) => r.pmu?.means.length);
  if (counted) parts.push(`On the CPU stands ${counted.pmu.ipc === undefined ? "what a span used of it, on average" : "how many instructions it did per cycle (IPC)"}.`);
  const d = data.dropped;
  if (d.regions_full) parts.push(`${plural(d.regions_full, "span")} stand under “other”: there were too many names.`);
  if (d.session_full) parts.push(`${plural(d.session_full, "span")} dropped from sessions that were full; they are counted here.`);
  if (d.hook_panics) parts.push(`${plural(d.hook_panics, "call")} of hooks panicked: what hooks measure is incomplete.`);
  return parts.join(" ");
}

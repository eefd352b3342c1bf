import assert from "node:assert/strict";
import { test } from "node:test";
import { install, settle } from "./fakedom.mjs";
import { Poller } from "../assets/api.mjs";
import { causalView } from "../assets/causal.mjs";
import { compareBar, currentMark } from "../assets/comparison.mjs";
import { h, keyed, keyedInSlices, once } from "../assets/dom.mjs";
import { statusBar } from "../assets/plan.mjs";
import { regionsView } from "../assets/regions.mjs";
import { tables } from "../assets/schedule.mjs";
import { sessionView } from "../assets/session.mjs";
import { droppedText } from "../assets/sessions.mjs";
import { timelineRow } from "../assets/timeline.mjs";

test("rows of one key are as many as there are items, however often they are drawn", () => {
  install();
  const table = h("table", {}, h("caption"));
  const row = () => {
    const el = h("tr");
    return { el, update(item) { el.textContent = item.text; } };
  };
  const draw = (...texts) => {
    keyed(table, texts.map((text) => ({ text })), () => "same", row, 1);
    return table.children.slice(1).map((el) => el.textContent);
  };
  for (let i = 0; i < 3; i++) assert.deepEqual(draw("a", "b", "c"), ["a", "b", "c"]);
  assert.deepEqual(draw("b"), ["b"]);
  assert.deepEqual(draw(), []);
});

test("a row that moves to another body keeps the focus", async () => {
  install();
  const table = h("table");
  Object.defineProperty(table, "tBodies", { get: () => table.children });
  table.createTBody = () => {
    const body = h("tbody");
    table.append(body);
    return body;
  };
  const draw = async (...keys) => {
    keyedInSlices(table, keys, (key) => key, (key) => ({ el: h("tr", {}, key), update() {} }), 2);
    await new Promise((done) => { setTimeout(done, 30); });
    return table.children.map((body) => body.textContent);
  };
  assert.deepEqual(await draw("a", "b", "c"), ["ab", "c"]);
  const row = table.children[0].children[1];
  row.focus();
  assert.deepEqual(await draw("x", "a", "b", "c"), ["xa", "bc"]);
  assert.equal(document.activeElement, row);
  assert.ok(table.contains(row));
  assert.deepEqual(await draw("b", "c", "x", "a", "d"), ["bc", "xa", "d"]);
  assert.equal(document.activeElement, row);
  assert.equal(table.children[0].children[0], row);
  assert.deepEqual(await draw("a"), ["a"]);
  assert.equal(document.activeElement, document.body);
});

test("an answer that cannot be drawn is no lost process", async () => {
  install();
  const said = [];
  const tick = async (load, done, once) => {
    const poller = new Poller({ load, done, failed: (err, drawing) => said.push([err.message, drawing]), once });
    await poller.tick();
    poller.stop();
  };
  await tick(async () => { throw new Error("no answer"); }, () => {});
  await tick(async () => 1, () => { throw new RangeError("too deep"); }, true);
  assert.deepEqual(said, [["no answer", false], ["too deep", true]]);
});

test("another process has no mark", async () => {
  const answers = { "regions?buckets=1": { since: "2026-01-01T00:00:00Z", regions: [{ scope: "", name: "a", count: 9 }] } };
  install(answers);
  const bar = compareBar(() => {});
  bar.set();
  await settle();
  bar.check("2026-01-01T00:00:00Z");
  assert.equal(currentMark()?.readings.size, 1);
  bar.check("2026-01-02T00:00:00Z");
  assert.equal(currentMark(), null);
  assert.match(bar.el.textContent, /^Compare from now.*The process began anew: the mark is gone\.$/);
});

test("a button that works is deaf, and keeps the focus", async () => {
  let [calls, go] = [0, null];
  const f = once(async () => { calls++; await new Promise((done) => { go = done; }); throw new Error("no"); });
  const first = f().catch((err) => err.message);
  await f();
  assert.equal(calls, 1);
  go();
  assert.equal(await first, "no");
  f();
  assert.equal(calls, 2);
});

test("what was said about a plan goes with it", async () => {
  const answers = {};
  install(answers);
  const bar = statusBar({ refresh() {} });
  const inForce = (id, state = "running") => ({ plan: { id, expires_at: "2026-01-01T00:00:00Z" }, status: { enabled: true, state }, replaceable: true });
  const profile = { curves: [] };
  bar.render(inForce("a"), profile);
  const stop = bar.el.all().find((e) => e.tag === "button" && e.textContent === "Stop all experiments");
  const form = bar.el.all().find((e) => e.tag === "form");
  answers["causal/plan"] = () => ({ status: 401, body: { error: "no" } });
  stop.click();
  await settle();
  assert.equal(form.hidden, false);
  bar.render(inForce("a"), profile);
  assert.equal(form.hidden, false);
  assert.match(bar.el.textContent, /This needs the token/);
  bar.render(inForce("a", "withheld"), profile);
  assert.equal(form.hidden, true);
  assert.doesNotMatch(bar.el.textContent, /This needs the token/);
  assert.match(bar.el.textContent, /■ Withheld/);
  bar.render({ plan: null, status: { enabled: false, state: "idle" } }, profile);
  assert.match(bar.el.textContent, /○ Experiments off/);
});

test("all that was left out is said", () => {
  const none = { queue_full: 0, store_error: 0, discarded: 0, session_full: 0, unwanted: 0, revisions: 0, hook_panics: 0 };
  assert.equal(droppedText(none), "");
  for (const [key, text] of [["unwanted", /3 sessions not kept/], ["revisions", /3 sessions without spans that ended late/], ["hook_panics", /3 calls of hooks panicked/]]) {
    assert.match(droppedText({ ...none, [key]: 3 }), text);
  }
});

test("a window of time has an end, which stays true", () => {
  install();
  const [note] = tables({ regions: [], window_ns: 10e9, taken: "2026-01-01T00:00:00Z" });
  assert.match(note.textContent, /within the 10 s until \d\d:00:00\.$/);
});

test("a session is not kept any more only where the process says that it knows none", () => {
  install();
  const view = sessionView({ id: "1", query: new URLSearchParams() });
  const gone = view.el.all().find((e) => e.tag === "h2" && e.textContent === "This session is not kept any more").parent;
  assert.equal(view.refused({ status: 503 }), false);
  assert.equal(gone.hidden, true);
  assert.equal(view.refused({ status: 404 }), true);
  assert.equal(gone.hidden, false);
});

test("a fold may have more spans than a call may have arguments", () => {
  install();
  const many = 200_000;
  const nodes = Array.from({ length: many }, (_, i) => ({ span: { start_ns: i, duration_ns: 1 } }));
  const row = timelineRow();
  row.draw({ type: "fold", key: "fold:a", depth: 0, open: false, expandable: true, nodes, name: "a", kind: "client", statement: "", count: many, totalNs: many, minNs: 1, maxNs: 1, errors: 0 },
    { range: [0, many], selected: null, matches: () => true });
  const bar = row.el.all().find((e) => e.getAttribute("class") === "bar fold");
  assert.deepEqual([bar.style.left, bar.style.width], ["0%", "100%"]);
});

test("details that are closed give the focus back to their row", () => {
  install();
  const view = sessionView({ id: "1", query: new URLSearchParams(), remember() {} });
  const span = { name: "GET /", kind: "server", scope: "", span_id: "01", parent: -1, start_ns: 0, duration_ns: 9, self_ns: 9, delay_ns: 0, status: "Unset", attributes: [], events: [], links: [] };
  view.render({ id: "1", origin: "1", name: "GET /", trace_id: "0", start: "2026-01-01T00:00:00Z", duration_ns: 9, attributes: [], spans: [span] });
  const row = view.el.all().find((e) => e.getAttribute("role") === "row");
  row.listeners.click({ target: { closest: () => null } });
  view.el.all().find((e) => e.getAttribute("aria-label") === "Close details").click();
  assert.equal(document.activeElement, row);
});

test("a link opens the region of that very name, and a failed request leaves what was known", async () => {
  const region = (name, count) => ({ scope: "", name, kind: "server", count, errors: 0, self_ns: 1, self_share: 0.1, total_ns: 1, mean_ns: 1, min_ns: 1, max_ns: 1, p50_ns: 1, p90_ns: 1, p99_ns: 1, p999_ns: 1, relative_error: 0 });
  const answers = { "regions/distribution": () => ({ body: { bins: [{ low_ns: 0, high_ns: 1, count: 7 }] } }) };
  install(answers);
  const view = regionsView({ query: new URLSearchParams({ q: "GET /items" }), remember() {} });
  const show = async (count) => {
    const of = ["GET /items/{id}", "GET /items"].map((name) => region(name, count));
    view.render({ regions: of, dropped: {}, relative_error: 0 });
    await settle();
    return view.el.all().filter((e) => e.tag === "tbody" && e.children[1]?.getAttribute("class") === "detail" && !e.children[1].hidden);
  };
  const [open, ...more] = await show(1);
  assert.equal(more.length, 0);
  assert.match(open.textContent, /^GET \/itemsserver/);
  const drawn = open.children[1].textContent;
  assert.match(drawn, /Durations/);
  answers["regions/distribution"] = () => ({ status: 503, body: { error: "busy" } });
  await show(2);
  assert.equal(open.children[1].textContent, drawn);
});

const regionOf = (scope, self_ns, more = {}) => ({ scope, name: "read", kind: "internal", count: 1, errors: 0, self_ns, self_share: 0.5, total_ns: 1, mean_ns: 1, min_ns: 1, max_ns: 1, p50_ns: 1, p90_ns: 1, p99_ns: 1, p999_ns: 1, relative_error: 0, ...more });

test("a link opens the region of its scope", () => {
  install({ "regions/distribution": { bins: [] } });
  const view = regionsView({ query: new URLSearchParams({ q: "read", scope: "db" }), remember() {} });
  view.render({ regions: [regionOf("shop", 9), regionOf("db", 1)], dropped: {}, relative_error: 0 });
  const rows = view.el.all().filter((e) => e.tag === "tbody" && e.children[1]?.getAttribute("class") === "detail");
  assert.deepEqual(rows.map((e) => e.children[1].hidden), [true, false]);
});

test("the button that asks where the time went stays while the rest is drawn anew", async () => {
  install({ "regions/distribution": { bins: [] } });
  document.body.dataset.schedule = "true";
  const view = regionsView({ query: new URLSearchParams({ q: "read" }), remember() {} });
  const show = async (count) => {
    view.render({ regions: [regionOf("", 1, { count })], dropped: {}, relative_error: 0 });
    await settle();
    const button = view.el.all().find((e) => e.textContent === "Where did the time go?" && e.tag === "button");
    return [button.parent.parent, button.parent.parent.textContent];
  };
  const [holder, text] = await show(1);
  assert.match(text, /Count1Errors/);
  const [same, anew] = await show(2);
  assert.equal(same, holder);
  assert.match(anew, /Count2Errors/);
});

test("percentiles that are not known have no card", () => {
  install();
  const view = regionsView({ query: new URLSearchParams(), remember() {} });
  const none = { min_ns: 0, p50_ns: 0, p90_ns: 0, p99_ns: 0, p999_ns: 0, max_ns: 0 };
  view.render({ regions: [regionOf("", 9, { ...none, total_ns: 9, count: 9 })], dropped: {}, relative_error: 0 });
  assert.doesNotMatch(view.el.textContent, /Longest tail/);
});

test("saved data can stop nothing", () => {
  install();
  document.body.dataset.saved = "true";
  const bar = statusBar({ refresh() {} });
  bar.render({ plan: { id: "a", expires_at: "2026-01-01T00:00:00Z" }, status: { enabled: true, state: "running" }, replaceable: true }, { curves: [] });
  bar.editor.offer(() => "", { enabled: true, replaceable: true });
  const stop = bar.el.all().find((e) => e.tag === "button" && e.textContent === "Stop all experiments");
  assert.deepEqual([stop.hidden, bar.editor.el.hidden], [true, true]);
  delete document.body.dataset.saved;
});

test("a token goes with the plan that is shown, and what is typed meanwhile is not applied", async () => {
  const [sent, answers] = [[], {}];
  install(answers);
  const now = { plan: null, status: { enabled: true, state: "idle" }, replaceable: true };
  let typed = null;
  answers["causal/plan/check"] = () => { typed?.(); return { body: { lines: [], cost: "c", refused: "", warnings: [] } }; };
  answers["causal/plan"] = (o) => { sent.push(o.body); return o.headers.Authorization ? { body: now } : { status: 401, body: { error: "no" } }; };
  const bar = statusBar({ refresh() {} });
  bar.render(now, { curves: [] });
  bar.editor.offer(() => "one", { enabled: true, replaceable: true });
  const find = (f) => bar.el.all().find(f);
  const wait = async () => { for (let i = 0; i < 8; i++) await settle(); };
  bar.editor.el.open = true;
  bar.editor.el.listeners.toggle();
  await wait();
  const [apply, text] = [find((e) => e.textContent === "Apply this plan" && e.tag === "button"), find((e) => e.tag === "textarea")];
  typed = () => { typed = null; text.value = "not a pl"; text.listeners.input(); };
  apply.click();
  await wait();
  assert.deepEqual(sent, []);
  text.value = "one";
  apply.disabled = false;
  apply.click();
  await wait();
  text.value = "two";
  find((e) => e.getAttribute("type") === "password").value = "0123456789abcdef";
  find((e) => e.tag === "form").listeners.submit({ preventDefault() {} });
  await wait();
  assert.deepEqual(sent, ["one", "two"]);
});

test("downloads have what is shown: all instances, or this one", async () => {
  const none = { curves: [] };
  const answers = { "causal/profile?of=fleet": none, "causal/profile": none, "causal/plan": { plan: null, status: { enabled: true, state: "idle" } }, "causal/experiments": { experiments: [] }, regions: { regions: [] } };
  install(answers);
  document.body.dataset.fleet = "true";
  Object.assign(globalThis, { ResizeObserver: class { observe() {} }, location: { href: "http://viewer.test/" } });
  const view = causalView({ hasCausal: true, query: new URLSearchParams("of=fleet"), remember() {} });
  const links = async () => {
    view.render(await view.load());
    return view.el.all().filter((e) => e.getAttribute("download")).map((e) => [e.getAttribute("download"), e.getAttribute("href")]);
  };
  const of = (more) => [["profile.svg", "format=svg"], ["profile.coz", "format=coz"], ["profile.json", "samples=1"]].map(([name, query]) => [name, `api/v1/causal/profile?${query}${more}`]);
  assert.deepEqual(await links(), of("&of=fleet"));
  answers["causal/profile?of=fleet"] = () => ({ status: 502, body: { error: "Prometheus: no answer" } });
  assert.deepEqual(await links(), of(""));
});

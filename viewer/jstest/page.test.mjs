import assert from "node:assert/strict";
import { test } from "node:test";
import { install, settle } from "./fakedom.mjs";
import { Poller } from "../assets/api.mjs";
import { compareBar, currentMark } from "../assets/comparison.mjs";
import { h, keyed, once } from "../assets/dom.mjs";
import { statusBar } from "../assets/plan.mjs";
import { droppedText } from "../assets/sessions.mjs";

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

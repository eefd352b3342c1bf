import assert from "node:assert/strict";
import { test } from "node:test";
import { install, settle } from "./fakedom.mjs";
import { Poller } from "../assets/api.mjs";
import { compareBar, currentMark } from "../assets/comparison.mjs";
import { h, keyed } from "../assets/dom.mjs";

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

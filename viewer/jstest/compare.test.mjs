import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { binsOf, changesOf, effectOf, effectWords, figuresOf, meanChange, relativeChange, windowOf } from "../assets/compare.mjs";

// Written by TestComparedFigures, with otelhdr's figures.
const cases = JSON.parse(readFileSync(new URL("compare.json", import.meta.url), "utf8"));

const near = (got, want, what) => assert.ok(Math.abs(got - want) <= 1e-9 * Math.abs(want), `${what}: ${got}, want ${want}`);
const fixed = (v, digits, sign) => `${sign && v > 0 ? "+" : ""}${v.toFixed(digits)}`.replace(/^[-+](?=0\.?0*$)/, "");
const changeText = (a, b) => (Number.isNaN(relativeChange(a, b)) ? "n/a" : `${fixed(100 * relativeChange(a, b), 1, true)}%`);
const effectText = (d) => (Number.isNaN(d) ? "n/a" : Number.isFinite(d) ? d.toFixed(2) : `${d > 0 ? "+" : "-"}Inf`);

for (const c of cases) {
  test(`two windows are compared as otelhdr does: ${c.name}`, () => {
    const [before, after] = [windowOf(c.start, c.mark), windowOf(c.mark, c.now)].map(figuresOf);
    for (const [name, got, want] of [["before", before, c.before], ["after", after, c.after]]) {
      assert.equal(got.count, want.count);
      near(got.mean, want.mean, `${name}, mean`);
      near(got.deviation, want.deviation, `${name}, deviation`);
      assert.deepEqual(got.percentiles, want.percentiles);
    }
    const changes = [...before.percentiles.map((v, i) => changeText(v, after.percentiles[i])), changeText(before.mean, after.mean)];
    assert.deepEqual(changes, c.change);
    assert.equal(effectText(effectOf(before, after)), c.d);
  });
}

test("a process that began anew cannot be compared with", () => {
  const { mark, now } = cases[0];
  assert.equal(windowOf(now, mark), null);
  const fresh = { ...mark, cumulative: { sum_ns: 0, buckets: [] } };
  assert.equal(windowOf(mark, fresh), null);
});

test("errors are counted in the window", () => {
  const reading = (errors) => ({ errors, min_ns: 0, max_ns: 0, cumulative: { sum_ns: 0, buckets: [] } });
  assert.equal(windowOf(reading(3), reading(5)).errors, 2);
  assert.equal(windowOf(null, reading(5)).errors, 5);
});

test("the change of the mean needs both windows", () => {
  const at = (count, total_ns) => ({ count, total_ns });
  assert.equal(meanChange(null, at(10, 1000), at(20, 2500)), 0.5);
  assert.equal(meanChange(at(5, 900), at(10, 1000), at(20, 1100)), -0.5);
  assert.equal(meanChange(null, undefined, at(20, 2500)), undefined); // the region is new
  assert.equal(meanChange(null, at(10, 1000), at(10, 1000)), undefined); // nothing since
  assert.equal(meanChange(at(10, 1000), at(10, 1000), at(11, 1001)), undefined);
  assert.equal(meanChange(null, at(10, 1000), at(3, 30)), undefined); // began anew
  assert.equal(meanChange(null, at(10, 1000), at(12, 30)), undefined); // and has counted more by now
});

test("an effect has a size and a direction", () => {
  const words = (d, clear = true) => effectWords({ d, clear });
  assert.equal(words(NaN), "too few to tell");
  assert.equal(words(-0.1), "negligible");
  assert.equal(words(0.196), "small, slower");
  assert.equal(words(-0.6), "medium, faster");
  assert.equal(words(-0.6, false), "medium, faster, perhaps by chance");
  assert.equal(words(-Infinity), "large, faster");
});

test("an effect of few values is not clear, however large", () => {
  const clear = (n, mean, deviation = 10) => {
    const figures = (m) => ({ count: n, mean: m, deviation, percentiles: [0, 0, 0] });
    return changesOf(figures(100), figures(mean), 0).clear;
  };
  assert.equal(clear(4, 105), false);
  assert.equal(clear(1000, 105), true);
  assert.equal(clear(1000, 95), true);
  assert.equal(clear(1000, 101.5), false); // less than small
  assert.equal(clear(4, 105, 0), true); // neither scatters
  assert.equal(clear(0, 105), false);
});

test("bins have all of a window, side by side, as the API draws them", () => {
  const bins = binsOf({ buckets: [[5, 5, 1], [9, 9, 2], [1000, 1003, 3], [1024, 1027, 4]] });
  assert.equal(bins.reduce((sum, b) => sum + b.count, 0), 10);
  for (let i = 1; i < bins.length; i++) assert.equal(bins[i].low_ns, bins[i - 1].high_ns + 1);
  const at = (v) => bins.find((b) => b.low_ns <= v && v <= b.high_ns);
  assert.deepEqual([at(5), at(9), at(1000), at(1024)].map((b) => [b.low_ns, b.high_ns, b.count]), [[5, 5, 1], [8, 9, 2], [896, 1023, 3], [1024, 1279, 4]]);
});

test("a change that rounding can make says nothing", () => {
  const figures = (mean, ...percentiles) => ({ count: 100, mean, deviation: 10, percentiles });
  const changes = changesOf(figures(100, 100, 200, 300), figures(110, 100.1, 260, 300), 0.001);
  assert.deepEqual(changes.percentiles.map((c) => [+c.part.toFixed(4), c.within]), [[0.001, true], [0.3, false], [0, true]]);
  assert.deepEqual([+changes.mean.part.toFixed(4), changes.mean.within], [0.1, false]);
  assert.ok(Number.isNaN(changesOf(figures(1, 1, 1, 1), { ...figures(0, 0, 0, 0), count: 0 }, 0).mean.part));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, amount, attributeText, change, count, duration, parseDuration, percent, plural, points, until } from "../assets/format.mjs";
import { linear, ticks } from "../assets/scale.mjs";

const table = (f, cases) => cases.forEach(([from, want]) => assert.equal(f(from), want, String(from)));

test("durations have three digits and a unit", () => table(duration, [
  [0, "0"], [1, "1 ns"], [850, "850 ns"], [999.6, "1.00 µs"], [1234, "1.23 µs"], [12_345, "12.3 µs"], [999_600, "1.00 ms"],
  [4_560_000, "4.56 ms"], [1e9, "1 s"], [61.5e9, "61.5 s"], [125e9, "2 m 05 s"], [7260e9, "2 h 01 m"], [-1e6, "−1 ms"], [NaN, "–"],
]));

test("counts have separators", () => table(count, [[0, "0"], [1234, "1,234"], [9_999_999, "9,999,999"], [12_345_678, "12.3 M"], [1.5e10, "15 G"]]));

test("amounts go by their unit", () => {
  const of = (mean, unit, want) => assert.equal(amount(mean, unit), want);
  of(1234, "ns", "1.23 µs");
  of(1234.5, "{cycle}", "1,235");
  of(0.25, "{fault}", "0.25");
  of(0, "{fault}", "0");
});

test("shares never round to nothing or all", () => table(percent, [
  [0, "0 %"], [0.0004, "<0.1 %"], [0.0421, "4.2 %"], [0.0996, "10 %"], [0.414, "41 %"], [0.997, "99.7 %"], [0.9999, ">99.9 %"], [1, "100 %"], [NaN, "–"],
]));

test("changes have a sign", () => table(change, [[0.112, "+11.2 %"], [-0.03, "−3.0 %"], [0.0001, "±0.0 %"], [null, "unbounded"], [Infinity, "unbounded"]]));

test("standard errors are in points", () => table(points, [[0.0041, "±0.4 points"], [0.11, "±11.0 points"], [null, "–"], [NaN, "–"]]));

test("nouns follow their number", () => {
  assert.equal(plural(1, "span"), "1 span");
  assert.equal(plural(37, "span"), "37 spans");
  assert.equal(plural(2, "match", "matches"), "2 matches");
});

test("times are told from now", () => {
  const now = Date.UTC(2026, 0, 1);
  assert.equal(ago(now - 500, now), "just now");
  assert.equal(ago(now - 45_000, now), "45 s ago");
  assert.equal(ago(now - 600_000, now), "10 min ago");
  assert.equal(until(now + 90_000, now), "in 90 s");
  assert.equal(until(now - 1, now), "over");
});

test("Go durations are read", () => {
  table(parseDuration, [["200ms", 2e8], ["1m30s", 90e9], ["1h0m0s", 3600e9], ["1.5µs", 1500], ["0s", 0], ["0", 0]]);
  for (const bad of ["", "5", "1x", undefined, "s"]) assert.ok(Number.isNaN(parseDuration(bad)), String(bad));
});

test("attribute values are one line", () => {
  assert.equal(attributeText(["a", 1]), '["a",1]');
  assert.equal(attributeText(false), "false");
  assert.equal(attributeText(undefined), "");
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 24.3, 5), [0, 5, 10, 15, 20]);
  assert.deepEqual(ticks(-0.1, 0.1, 4), [-0.1, -0.05, 0, 0.05, 0.1]);
  assert.deepEqual(ticks(3, 3, 4), [3]);
});

test("a scale of one value is constant", () => {
  assert.equal(linear(0, 10, 0, 100)(5), 50);
  assert.equal(linear(3, 3, 7, 9)(3), 7);
});

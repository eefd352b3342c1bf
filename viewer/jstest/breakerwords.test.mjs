import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf, gauges, levelOf, parsePercent } from "../assets/breakerwords.mjs";

const breaker = {
  base_roots: 250, base_p99_ns: 50e6, base_failed: 0.01, roots: 400, p99_ns: 55e6, failed: 0.012, min_roots: 200, window: "10s", most_p99_ns: 60e6, most_failed: 0.015,
};
const status = { state: "running", limits: { total: "20s", duty: "5%" }, spent_ns: 5e9, duty: 0.02, breaker };

test("each limit has a gauge", () => {
  assert.deepEqual(gauges(status).map((g) => [g.label, +g.part.toFixed(3), g.text]), [
    ["Spent", 0.25, "5 s of 20 s (25 %)"],
    ["Delay now", 0.4, "2.0 % of each processor, at most 5.0 %"],
    ["Breaker: p99", 0.917, "55 ms, was 50 ms, opens above 60 ms"],
    ["Breaker: failed", 0.8, "1.2 %, was 1.0 %, opens above 1.5 %"],
  ]);
});

test("the breaker learns first, and needs enough requests", () => {
  const learns = gauges({ ...status, breaker: { ...breaker, base_roots: 50, most_p99_ns: 0 } });
  assert.equal(learns.at(-1).text, "learns what is normal: 50 of 200 requests. Until then nothing is delayed");
  assert.match(gauges({ ...status, breaker: { ...breaker, roots: 7 } })[2].text, /no verdict with 7 of 200 requests in 10s$/);
});

test("what is over shows what it has come to", () => {
  assert.deepEqual(gauges({ ...status, state: "aborted" }).map((g) => g.label), ["Spent", "Breaker: p99", "Breaker: failed"]);
  assert.deepEqual(gauges({ state: "stopped", spent_ns: 3e6 }).map((g) => g.text), ["3 ms"]);
  assert.deepEqual([0.1, 0.8, 1, 1.01, NaN].map(levelOf), ["", "high", "high", "over", ""]);
});

test("a plan ends with its document, or with the life that the program allows", () => {
  const plan = { expires_at: "2026-01-01T01:00:00Z" };
  const end = (p, more) => new Date(endOf(p, { state: "running", since: "2026-01-01T00:00:00.5Z", allowed: { life: "10m0s" }, ...more })).toISOString().slice(11, 19);
  assert.equal(end(plan), "00:10:00");
  assert.equal(end({ ...plan, not_before: "2026-01-01T00:20:00Z" }, { state: "waiting" }), "00:30:00");
  assert.equal(end({ ...plan, not_before: "2026-01-01T00:55:00Z" }, { state: "waiting" }), "01:00:00");
  for (const more of [{ state: "stopped" }, { allowed: undefined }, { since: undefined }]) assert.equal(end(plan, more), "01:00:00");
});

test("percentages are read as Go writes them", () => {
  assert.deepEqual(["5%", "0.5%", "1e+01%"].map(parsePercent), [0.05, 0.005, 0.1]);
  for (const text of ["", "5", "%", undefined]) assert.ok(Number.isNaN(parsePercent(text)), text);
});

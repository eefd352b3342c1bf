import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf } from "../assets/changes.mjs";

// The verdict is the API's.
const change = (text, reduction, half, more = {}) => ({
  change: text, progress: "POST /orders", metric: "throughput", effect: { reduction, lo: reduction - half, hi: reduction + half, verdict: reduction > 0 ? "helps" : "hurts" }, ...more,
});
const goal = { progress: "POST /orders", metric: "throughput" };

test("what would change most comes first, with its interval", () => {
  const rows = changesOf({ changes: [
    change("4 processors", 0.01, 0.03, { effect: { reduction: 0.01, lo: -0.02, hi: 0.04, verdict: "unclear" } }), change("no wait for the lock at main.reserve:49", 0.5, 0.1), change("1 processors", -0.25, 0.05),
    change("other", 0.9, 0.01, { progress: "GET /products" }), change("slow", 0.9, 0.01, { metric: "latency_p99" }),
    change("held", 0, 0, { effect: { reduction: 0, lo: 0, hi: 0, withheld: { code: "few_windows", text: "too few" } } }),
  ] }, goal);
  assert.deepEqual(rows.map((r) => [r.text, r.verdict]), [
    ["no wait for the lock at main.reserve:49", "helps"], ["1 processors", "hurts"], ["4 processors", "unclear"],
  ]);
  assert.deepEqual([rows[0].change, rows[0].lo, rows[0].hi].map((v) => +v.toFixed(3)), [1, 0.667, 1.5]);
});

test("a latency falls", () => {
  const [row] = changesOf({ changes: [change("4 processors", 0.2, 0.1, { metric: "latency_p99" })] }, { ...goal, metric: "latency_p99" });
  assert.deepEqual([row.change, row.lo, row.hi].map((v) => +v.toFixed(3)), [-0.2, -0.3, -0.1]);
});

test("without changes, or a goal, there are none", () => {
  assert.deepEqual(changesOf({}, goal), []);
  assert.deepEqual(changesOf({ changes: [change("4 processors", 0.2, 0.1)] }, null), []);
});

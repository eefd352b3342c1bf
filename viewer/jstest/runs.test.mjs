import assert from "node:assert/strict";
import { test } from "node:test";

import { pairsOf } from "../assets/runs.mjs";

const region = (name, buckets, more = {}) => ({
  scope: "shop", name, errors: 0, relative_error: 0.001, min_ns: buckets[0][0], max_ns: buckets.at(-1)[1],
  cumulative: { sum_ns: buckets.reduce((sum, [v, , n]) => sum + v * n, 0), buckets }, ...more,
});

test("regions of two runs are joined by scope and name", () => {
  const pairs = pairsOf(
    [region("a", [[100, 100, 10]]), region("gone", [[5, 5, 1]])],
    [region("a", [[150, 150, 20]], { relative_error: 0.003 }), region("new", [[5, 5, 1]]), region("a", [[1, 1, 1]], { scope: "db" })], ["old", "now"]);
  assert.deepEqual(pairs.map((p) => [p.scope, p.name, p.before?.count, p.after?.count]),
    [["shop", "a", 10, 20], ["shop", "new", undefined, 1], ["db", "a", undefined, 1], ["shop", "gone", 1, undefined]]);
  const [a, fresh, , gone] = pairs;
  assert.deepEqual(a.changes.percentiles.map((c) => c.part), [0.5, 0.5, 0.5]);
  assert.equal(a.changes.mean.part, 0.5);
  assert.equal(a.changes.d, Infinity); // neither scatters
  assert.equal(a.error, 0.003);
  assert.deepEqual([fresh.changes, fresh.note, gone.note], [null, "only in the candidate", "only in the baseline"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { build, layout } from "../assets/flame.mjs";
import { merged } from "../assets/goroutinetree.mjs";

const call = (func, n, ...children) => ({ func, samples: n, cpu_ns: n, self_samples: children.length ? 0 : n, self_ns: children.length ? 0 : n, children });
const dump = {
  count: 5, groups: [
    { reason: "chan receive", count: 4, tree: { self_samples: 1, children: [call("main.worker", 3, call("main.take", 3))] } },
    { reason: "running", count: 1, tree: { self_samples: 0, children: [call("main.main", 1)] } },
  ],
};

test("goroutines are merged by reason, and boxes are as wide as their number", () => {
  const { root } = build(merged(dump));
  assert.deepEqual(root.children.map((n) => [n.func, n.samples, n.self]), [["[chan receive]", 4, 1], ["[running]", 1, 0]]);
  const widths = Object.fromEntries(layout(root).boxes.map((b) => [b.node.func, [b.left, b.width]]));
  assert.deepEqual(widths, { "[chan receive]": [0, 0.8], "main.worker": [0, 0.6], "main.take": [0, 0.6], "[running]": [0.8, 0.2], "main.main": [0.8, 0.2] });
});

test("a program without goroutines has no boxes", () => {
  assert.deepEqual(layout(build(merged({ count: 0, groups: [] })).root).boxes, []);
});

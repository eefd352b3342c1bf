import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "../assets/flame.mjs";
import { differ, functionsOf, overlay } from "../assets/overlay.mjs";

const node = (func, samples, self, ...children) => ({ func, samples, self_samples: self, cpu_ns: 1e7 * samples, self_ns: 1e7 * self, children });
const tree = (...children) => {
  const samples = children.reduce((sum, c) => sum + c.samples, 0);
  return { samples, cpu_ns: 1e7 * samples, self_ns: 0, children };
};
const before = tree(node("main", 900, 0, node("sum", 500, 500), node("gone", 400, 400)), node("gc", 100, 100));
const after = tree(node("main", 450, 0, node("sum", 400, 400), node("made", 50, 50)), node("gc", 50, 50));

test("two trees are one, as wide as the mean of their shares", () => {
  const { root, byKey } = build(overlay(before, after));
  const of = (func) => [...byKey.values()].find((n) => n.func === func);
  assert.equal(Math.round(root.cpu), 1e9);
  const shares = Object.fromEntries(["main", "sum", "gone", "made", "gc"].map((f) => [f, of(f).shares]));
  assert.deepEqual(shares.main, { was: 0.9, is: 0.9, clear: false });
  assert.deepEqual(shares.sum, { was: 0.5, is: 0.8, clear: true });
  assert.deepEqual(shares.gone, { was: 0.4, is: 0, clear: true });
  assert.deepEqual(shares.made, { was: 0, is: 0.1, clear: true });
  assert.deepEqual(["sum", "gone", "made"].map((f) => Math.round(of(f).cpu / 1e6)), [650, 200, 50]);
  assert.equal(of("gone").parent.func, "main");
});

test("a tree without samples is under the other", () => {
  const { shares } = overlay(tree(), after).children[0];
  assert.deepEqual([shares.was, shares.is], [0, 0.9]);
});

test("few samples differ by chance", () => {
  assert.equal(differ(0, 1000, 4, 1000), false);
  assert.equal(differ(0, 1000, 8, 1000), true);
  assert.equal(differ(300, 1000, 330, 1000), false);
  assert.equal(differ(300, 1000, 345, 1000), true);
  assert.equal(differ(0, 0, 0, 0), false);
});

test("functions whose own share changed most come first, and recursion counts once", () => {
  const recursive = tree(node("walk", 100, 50, node("walk", 50, 50)));
  assert.deepEqual(functionsOf(recursive, tree(node("walk", 100, 100)))[0], { func: "walk", self: [1, 1], whole: [1, 1], samples: [100, 100], clear: false });
  assert.deepEqual(functionsOf(before, after).map((f) => f.func), ["gone", "sum", "made", "gc", "main"]);
});

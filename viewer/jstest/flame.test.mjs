import assert from "node:assert/strict";
import { test } from "node:test";
import { build, hueOf, layout, matched, matches, neighbor, packageOf, shortName, thinnest } from "../assets/flame.mjs";

const node = (func, cpu, self, ...children) => ({ func, file: `${func}.go`, samples: cpu, self_samples: self, cpu_ns: cpu, self_ns: self, children });
const tree = () => ({
  cpu_ns: 1000, self_ns: 0, samples: 1000, children: [
    node("main", 900, 0, node("serve", 600, 100, node("price", 500, 500)), node("store", 299.5, 299.5), node("log", 0.5, 0.5)),
    node("gc", 100, 100),
  ],
});
const at = (flame, ...path) => path.reduce((n, func) => n.children.find((c) => c.func === func), flame.root);

test("build places callees inside their callers", () => {
  const flame = build(tree());
  assert.deepEqual(["main", "gc"].map((f) => at(flame, f).start), [0, 900]);
  assert.equal(at(flame, "main", "store").start, 600);
  assert.equal(at(flame, "main", "serve", "price").depth, 2);
  assert.equal(flame.byKey.get(at(flame, "main", "serve").key), at(flame, "main", "serve"));
  assert.equal(at(build(tree()), "main", "serve").key, at(flame, "main", "serve").key, "keys stay from one answer to the next");
});

test("layout fills the width and leaves out what is thin", () => {
  const flame = build(tree());
  const { boxes, hidden } = layout(flame.root);
  assert.equal(hidden, 1);
  assert.ok(0.5 / 1000 < thinnest);
  assert.deepEqual(boxes.map((b) => b.node.func).sort(), ["gc", "main", "price", "serve", "store"]);
  const gc = boxes.find((b) => b.node.func === "gc");
  assert.deepEqual([gc.left, gc.width], [0.9, 0.1]);
});

test("layout of a zoom has the callers over the whole width", () => {
  const flame = build(tree());
  const { boxes } = layout(at(flame, "main", "serve"));
  assert.deepEqual(boxes.map((b) => [b.node.func, b.left, b.width]), [["main", 0, 1], ["serve", 0, 1], ["price", 0, 500 / 600]]);
});

test("a tree without samples has no boxes", () => {
  assert.deepEqual(layout(build({ cpu_ns: 0, self_ns: 0, samples: 0, children: [] }).root), { boxes: [], hidden: 0 });
});

test("search counts a call inside another once", () => {
  const flame = build(tree());
  assert.equal(matched(flame.root, "price"), 500);
  assert.equal(matched(flame.root, "e"), 600 + 299.5, "serve with price in it, and store");
  assert.equal(matches(at(flame, "gc"), ""), false);
});

test("arrows lead to callers, callees and neighbors", () => {
  const flame = build(tree());
  const serve = at(flame, "main", "serve");
  const names = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter"].map((k) => neighbor(serve, k)?.func ?? null);
  assert.deepEqual(names, ["main", "price", null, "store", null]);
  assert.equal(neighbor(at(flame, "main"), "ArrowUp"), null);
});

test("names", () => {
  assert.equal(packageOf("net/http.(*conn).serve"), "net/http");
  assert.equal(packageOf("gopkg.in/yaml.v3.Unmarshal"), "gopkg.in/yaml");
  assert.equal(shortName("net/http.(*conn).serve"), "http.(*conn).serve");
  assert.equal(shortName("slices.SortFunc[go.shape.struct { a/b }]"), "slices.SortFunc[go.shape.struct { a/b }]");
  assert.equal(hueOf("net/http.Get"), hueOf("net/http.(*conn).serve"));
});

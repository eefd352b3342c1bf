import assert from "node:assert/strict";
import { test } from "node:test";

import { parseRoute } from "../assets/route.mjs";

const parts = (hash) => {
  const { name, id, query } = parseRoute(hash);
  return [name, id, query.toString()];
};

test("a route of a region without a name is not that of the process", () => {
  assert.deepEqual(parts("#/stacks"), ["stacks", undefined, ""]);
  assert.deepEqual(parts("#/stacks?seconds=30"), ["stacks", undefined, "seconds=30"]);
  assert.deepEqual(parts("#/stacks/"), ["stacks", "", ""]);
  assert.deepEqual(parts("#/stacks/?scope="), ["stacks", "", "scope="]);
});

test("a route has any name as its id", () => {
  for (const name of ["/", ".", "..", "//", "a/b", "%2F", "%", "a?b#c", "a b", "é", "{name}"]) {
    assert.deepEqual(parts(`#/stacks/${encodeURIComponent(name)}?scope=s`), ["stacks", name, "scope=s"]);
  }
  assert.deepEqual(parts("#/stacks/%zz"), ["stacks", "%zz", ""]);
});

test("without a route the overview is shown", () => {
  for (const hash of ["", "#", "#/"]) assert.deepEqual(parts(hash), ["overview", undefined, ""]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { chosen, keyOf } from "../assets/api.mjs";

test("an answer in a file is found by its path, and by a region's name and scope", () => {
  assert.equal(keyOf("sessions?sort=worst"), "sessions");
  assert.equal(keyOf("regions"), "regions");
  assert.equal(keyOf("regions/waits?name=a%20b&scope=s&scope_version=1"), "regions/waits\na b\ns\n1\n");
  assert.equal(keyOf("regions/stacks?lines=1&name=a"), "regions/stacks\na\n");
});

test("sessions in a file are chosen and ordered as the process would", () => {
  const session = (name, start, ms, errors = 0) => ({ name, start, duration_ns: 1e6 * ms, errors, hot: null });
  const list = { more: false, sessions: [session("GET /", "2026-01-01", 5), session("POST /orders", "2026-01-03", 1, 1), session("GET /cart", "2026-01-02", 9)] };
  const names = (query) => chosen(list, query).sessions.map((s) => s.name);
  assert.deepEqual(names("sort=newest"), ["POST /orders", "GET /cart", "GET /"]);
  assert.deepEqual(names("sort=worst&name=get"), ["GET /cart", "GET /"]);
  assert.deepEqual(names("errors=1"), ["POST /orders"]);
  assert.deepEqual(names("min_ms=4&sort=newest"), ["GET /cart", "GET /"]);
  assert.equal(chosen(list, "").more, false);
  assert.deepEqual(names("name=GET%20/&whole=1"), ["GET /"]);
  const spansOf = (s) => (s.name === "GET /cart" ? [{ name: "SELECT cart" }] : []);
  assert.deepEqual(chosen(list, "name=SELECT%20cart&whole=1", spansOf).sessions.map((s) => s.name), ["GET /cart"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { byOf, placeOf, recordedText, sumWaits, tailRows, waitRows, waitText } from "../assets/waitwords.mjs";

const lock = { kind: "lock", where: "example.com/shop/store.(*stock).Take:49", by: "POST /orders", by_where: "main.pay:7", at_ns: 1e6, for_ns: 2.5e6 };

test("a wait says for what, who ended it, and for how long", () => {
  assert.equal(waitText(lock), "lock at store.(*stock).Take:49, held by POST /orders, 2.50 ms");
  assert.equal(waitText({ kind: "processor", for_ns: 1e6 }), "a processor, 1 ms");
  assert.equal(waitText({ kind: "channel receive", where: "main.get:3", by_where: "main.worker:9", for_ns: 1e6 }), "channel at main.get:3, sent by main.worker:9, 1 ms");
  assert.equal(byOf({ kind: "of a later version", by: "x" }), "ended by x");
  assert.equal(placeOf(undefined), "");
});

test("a session that was recorded in part has not all its waits", () => {
  assert.match(recordedText(1), /^All/);
  assert.match(recordedText(0.14), /^Recorded for 14 % /);
  assert.match(recordedText(0), /^Not known/);
});

test("waits of a session that are alike are one, the longest first", () => {
  const sums = sumWaits([{}, { waits: [{ ...lock, for_ns: 1e6 }, { kind: "sleep", for_ns: 3e6 }] }, { waits: [lock] }]);
  assert.deepEqual(sums.map((s) => [s.what, s.count, s.ns, s.span]), [["lock at store.(*stock).Take:49", 2, 3.5e6, 2], ["sleep", 1, 3e6, 1]]);
});

test("what makes the slowest slow has its part of the difference, and what they would take without", () => {
  const region = { scope: "shop", span: "order" };
  const part = (kind, slow, typical) => ({ kind, in: region, slow_ns: slow, typical_ns: typical });
  const rows = tailRows({ region, slow_ns: 100, typical_ns: 20, parts: [part("lock", 70, 2), part("running", 22, 10), part("sleep", 8, 8)] });
  assert.deepEqual(rows.map((r) => [r.what, r.share, r.without]), [["lock", 0.85, 32], ["running", 0.15, 88]]);
});

test("a region's table has the longest waits, and the rest in one row", () => {
  const region = { scope: "shop", span: "order" };
  const wait = (total) => ({ kind: "lock", in: region, by: { scope: "", span: "" }, count: 2, total_ns: total, longest_ns: total / 2 });
  const rows = waitRows({ region, time_ns: 100, waits: [{ ...wait(40), in: { scope: "shop", span: "stock" } }, wait(20), wait(10), wait(8)] }, 2);
  assert.deepEqual(rows.map((r) => [r.what, r.in, r.share, r.count, r.longest]), [["lock", "stock", 0.4, 2, 20], ["lock", "", 0.2, 2, 10], ["2 more", "", 0.18, 4, 5]]);
});

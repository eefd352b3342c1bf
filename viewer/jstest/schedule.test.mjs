import assert from "node:assert/strict";
import { test } from "node:test";

import { scheduleRows } from "../assets/schedule.mjs";

test("the longest wait comes first, and the shares are of all", () => {
  const rows = scheduleRows({
    total: { running_ns: 50, runnable_ns: 10, blocked_ns: { sync: 15, network: 25 } },
    self: { running_ns: 40, runnable_ns: 10, blocked_ns: { network: 5 } },
  });
  assert.deepEqual(rows, [
    { label: "Running", total: 50, self: 40, share: 0.5 },
    { label: "Runnable", total: 10, self: 10, share: 0.1 },
    { label: "Blocked: network", total: 25, self: 5, share: 0.25 },
    { label: "Blocked: sync", total: 15, self: 0, share: 0.15 },
  ]);
});

test("a region without time has no shares", () => {
  const nothing = { running_ns: 0, runnable_ns: 0, blocked_ns: {} };
  assert.deepEqual(scheduleRows({ total: nothing, self: nothing }).map((row) => row.share), [0, 0]);
});

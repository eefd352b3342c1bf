import assert from "node:assert/strict";
import { test } from "node:test";
import { eventText, isBad, newestFirst, whoText, writing } from "../assets/auditwords.mjs";

test("events say what happened, why and at what cost", () => {
  assert.equal(eventText({ kind: "received", plan_id: "a" }), "plan a received");
  assert.equal(eventText({ kind: "stopped", plan_id: "a", message: "by hand", spent_ns: 7e6 }), "plan a stopped: by hand; 7 ms inserted");
  assert.equal(eventText({ kind: "rejected", message: "the document is empty" }), "a document rejected: the document is empty");
  assert.equal(eventText({ kind: "panicked", plan_id: "a", message: "oh no" }), "panic in otelprof: oh no");
  assert.equal(eventText({ kind: "of a later version", plan_id: "a" }), "plan a of a later version");
});

test("events say who asked", () => {
  assert.equal(whoText({ author: "ann", source: "viewer", plan_reason: "slow?" }), "ann by viewer (slow?)");
  assert.equal(whoText({ source: "file plan.yaml" }), "file plan.yaml");
  assert.equal(whoText({}), "");
});

test("the newest event comes first, and what it was made of stays in order", () => {
  const status = { audit: [{ kind: "received" }, { kind: "aborted" }] };
  assert.deepEqual(newestFirst(status).map((e) => e.kind), ["aborted", "received"]);
  assert.equal(status.audit[0].kind, "received");
  assert.deepEqual(newestFirst({}), []);
  assert.deepEqual(["received", "ignored", "rejected", "panicked", "spent", "aborted"].filter((kind) => isBad({ kind })), ["rejected", "panicked", "aborted"]);
});

test("the page says how to allow plans where it takes none", () => {
  assert.match(writing(false), /WithToken/);
  assert.match(writing(true), /token/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { cells, keptText, laneName, lanesOf, latest, marksOf, medianWithout, valueName, valueOf, valueText } from "../assets/experimentwords.mjs";

const arm = (at, speedup, region, ns, more = {}) => ({
  at_ns: at * 1e9, settled_ns: 2e8, took_ns: 1e9, speedup, region, delay_ns: 5e6, values_ns: [ns, 2 * ns], ...more,
});
const started = "2026-03-01T12:00:00Z";
const timeline = {
  plan_id: "p", plan_hash: "h", mode: "overlap", started,
  regions: [{ scope: "db", span: "q" }, { scope: "web", span: "q" }, { scope: "db", span: "price" }],
  progress: [{ span: "POST /orders", type: "throughput" }, { span: "POST /orders", type: "latency", quantiles: [90, 99] }],
  earlier: 0,
  experiments: [arm(3, 0, -1, 10e6), arm(5, 0.5, 2, 8e6), arm(7, 0, -1, 12e6, { rejected: "a jump" }), arm(9, 0.25, 1, 9e6), arm(11, 0, -1, 0)],
};
const at = (seconds) => new Date(started).getTime() + 1000 * seconds;

test("a lane is a region, with its scope where two have one name", () => {
  assert.deepEqual(timeline.experiments.map((e) => laneName(timeline, e)), ["nothing delayed", "price", "nothing delayed", "q (web)", "nothing delayed"]);
  assert.deepEqual(lanesOf(timeline, timeline.experiments), ["nothing delayed", "q (web)", "price"]);
  assert.equal(laneName(timeline, arm(0, 0.5, -1, 1)), "all regions longer");
});

test("the picture ends now, but not long after the last experiment", () => {
  const all = latest(timeline, 200, at(13));
  assert.deepEqual([all.shown.length, all.all, all.from, all.to, all.isNow], [5, true, 0, 13e9, true]);
  const later = latest(timeline, 200, at(500));
  assert.ok(later.to < 14e9 && !later.isNow);
  const few = latest(timeline, 2, at(13));
  assert.deepEqual([few.shown.length, few.all, few.from], [2, false, 9e9]);
  const over = latest({ ...timeline, ended: new Date(at(12.5)).toISOString() }, 200, at(500));
  assert.equal(over.to, 12.5e9);
  assert.equal(latest({ ...timeline, experiments: [] }, 200, at(0)).to, 1e9);
});

test("events of this plan are marks, those of others are not", () => {
  const event = (kind, seconds, more) => ({ kind, time: new Date(at(seconds)).toISOString(), plan_id: "p", plan_hash: "h", ...more });
  const marks = marksOf(timeline, [event("received", 0), event("started", -0.5), event("aborted", 20, { message: "too slow" }), event("stopped", 5, { plan_hash: "x" }), event("started", -900)]);
  assert.deepEqual(marks.map((m) => [m.text, m.why, m.bad, m.at_ns]), [["▶ started", "", false, 0], ["▲ aborted", "too slow", true, 20e9]]);
  assert.deepEqual(marksOf(timeline, [event("withheld", 30, { message: "no number" })]).map((m) => [m.text, m.why, m.bad]), [["■ withheld", "no number", false]]);
  assert.deepEqual(marksOf(timeline, undefined), []);
});

test("throughput is a rate and latency a time", () => {
  const [, e] = timeline.experiments;
  assert.equal(valueOf(timeline, e, 0), 125);
  assert.equal(valueOf(timeline, e, 1), 16e6);
  assert.equal(valueText(timeline, 125, 0), "125 /s");
  assert.equal(valueText(timeline, 16e6, 1), "16 ms");
  assert.equal(valueText(timeline, 0, 0), "–");
  assert.deepEqual(timeline.progress.map(valueName), ["POST /orders per second", "latency p90 of POST /orders"]);
  assert.equal(medianWithout(timeline, timeline.experiments, 0), 100, "of what counts and has a number");
});

test("each experiment is said in words", () => {
  const [, e, jump] = timeline.experiments;
  assert.deepEqual(cells(timeline, e, 0, 100), ["price", "50 %", "1 s", "125 /s (+25.0 %)", "5 ms", "counts"]);
  assert.equal(cells(timeline, jump, 0, 100).at(-1), "does not count: a jump");
  assert.equal(keptText(timeline, timeline.experiments), "5 experiments; 1 does not count");
  assert.equal(keptText({ ...timeline, earlier: 700 }, timeline.experiments.slice(-2)), "the last 2 of 705 experiments; the last 5 are kept");
});

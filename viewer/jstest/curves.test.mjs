import assert from "node:assert/strict";
import { test } from "node:test";
import { apart, bounds, changeOf, columnsOf, errorOf, measured, questionsOf, typical } from "../assets/curves.mjs";

const effect = (speedup, reduction, half) => ({
  speedup, reduction, lo: reduction - half, hi: reduction + half, throughput_gain: changeOf("throughput", reduction), samples: 20, outliers: 1,
});
const curve = (span, effects, more = {}) => ({
  mode: "overlap", region: { scope: "db", span }, progress: "checkout", metric: "throughput", base_period_ns: 5e6,
  verdict: "helps", effects, ...more,
});
const held = { ...effect(0.25, 0, 0), withheld: { code: "few_iterations", text: "3 iterations measured, 5 are needed" } };
const profile = {
  curves: [
    curve("held", [held], { verdict: "withheld" }),
    curve("worse", [effect(0.25, -0.1, 0.02)], { verdict: "hurts" }),
    curve("noise", [effect(0.25, 0.01, 0.05)], { verdict: "unclear" }),
    curve("tiny", [effect(0.25, 0.004, 0.002)], { verdict: "little" }),
    curve("update", [effect(0.25, 0.1, 0.02), effect(0.5, 0.2, 0.02)], { mode: "replay", disagrees: ["overlap"] }),
    curve("update", [effect(0.25, 0.1, 0.02), effect(0.5, 0.3, 0.02), effect(0.8, 0.3, 0.02)], { disagrees: ["replay"], knee: 0.3 }),
    curve("read", [effect(0.5, 0.1, 0.02)]),
    curve("checkout", [effect(0.5, 0.5, 0.02)], { progress: "search" }),
    curve("read", [effect(0.5, 0.4, 0.1)], { metric: "latency_p99", mode: "replay" }),
  ],
};

test("the standard error of a change follows its slope", () => {
  const slope = (changeOf("throughput", 0.2 + 1e-6) - changeOf("throughput", 0.2)) / 1e-6;
  assert.ok(Math.abs(errorOf("throughput", 0.2, 0.01) - 0.01 * slope) < 1e-6);
  assert.deepEqual([errorOf("latency_p99", 0.2, 0.01), errorOf("throughput", 0.2, 0), errorOf("throughput", 0.2, undefined), errorOf("throughput", 1, 0.01)],
    [0.01, null, null, null]);
});

test("a question has a curve for each mode, experiments first", () => {
  const update = questionsOf(profile).find((q) => q.name === "update");
  assert.deepEqual(update.curves.map((c) => c.mode), ["overlap", "replay"]);
  assert.equal(update.answer.mode, "overlap");
  assert.equal(update.disagree, true);
  assert.equal(update.baseNs, 5e6);
});

test("questions are ranked: gains, what is unclear, losses, nothing, each in the profile's order; and progress points behind the others", () => {
  assert.deepEqual(questionsOf(profile).map((q) => [q.name, q.metric, q.answer.verdict]), [
    ["update", "throughput", "helps"], ["read", "throughput", "helps"], ["read", "latency_p99", "helps"], ["checkout", "throughput", "helps"],
    ["noise", "throughput", "unclear"], ["tiny", "throughput", "little"], ["worse", "throughput", "hurts"], ["held", "throughput", "withheld"],
  ]);
  assert.deepEqual(questionsOf({ curves: [] }), []);
});

test("verdicts are the API's, whatever the numbers are", () => {
  const of = (verdict, e = effect(0.5, -0.3, 0.01)) => questionsOf({ curves: [curve("a", [e], { verdict })] })[0].answer;
  for (const verdict of ["helps", "mixed", "unclear", "little", "none", "hurts", "of a later version"]) assert.equal(of(verdict).verdict, verdict);
  const [p] = of("helps", { ...effect(0.5, 0.3, 0.2), verdict: "unclear", loose: true, bounded: true }).points;
  assert.deepEqual([p.verdict, p.loose], ["unclear", true]);
  const names = questionsOf({ curves: ["of a later version", "none", "mixed", "hurts"].map((verdict) => curve(verdict, [effect(0.5, 0.1, 0.01)], { verdict })) }).map((q) => q.name);
  assert.deepEqual(names, ["mixed", "none", "hurts", "of a later version"]);
});

test("a mode with a number answers where an experiment has none", () => {
  const [q] = questionsOf({ curves: [curve("a", [held], { verdict: "withheld" }), curve("a", [effect(0.5, 0.2, 0.01)], { mode: "replay" })] });
  assert.equal(q.answer.mode, "replay");
});

test("a number of recordings that slow-downs confirm answers before their bounds", () => {
  const [q] = questionsOf({ curves: [
    curve("a", [effect(0.5, 0.2)], { mode: "slowdown", evidence: "measured" }),
    curve("a", [effect(0.5, 0.18)], { mode: "replay", evidence: "simulated and confirmed" }),
  ] });
  assert.equal(q.answer.mode, "replay");
});

test("recordings answer where an experiment has decided nothing so far", () => {
  const of = (verdict, recorded) => questionsOf({ curves: [
    curve("a", [effect(0.5, 0.2, 0.4)], { verdict }), curve("a", [effect(0.5, 0.2, 0.01)], { mode: "replay", verdict: recorded }),
  ] })[0].answer.mode;
  assert.deepEqual([of("unclear", "helps"), of("unclear", "none"), of("unclear", "unclear"), of("none", "helps")], ["replay", "replay", "overlap", "overlap"]);
});

test("regions of one name are told apart by scope", () => {
  const other = { region: { scope: "web", span: "q" } };
  const all = questionsOf({ curves: [curve("q", []), curve("q", [], other), curve("q", [], { metric: "latency_p50" }), curve("r", [])] });
  assert.deepEqual(all.map((q) => q.label).sort(), ["q (db)", "q (db)", "q (web)", "r"]);
});

test("throughput rises and latency falls by a reduction", () => {
  assert.equal(changeOf("throughput", 0.5), 1);
  assert.equal(changeOf("throughput", 1), null);
  assert.equal(changeOf("latency_p99", 0.25), -0.25);
  assert.ok(Object.is(changeOf("latency_p99", 0), 0), "and not minus zero");
  const [p] = questionsOf({ curves: [curve("a", [effect(0.5, 0.25, 0.125)], { metric: "latency_p99" })] })[0].curves[0].points;
  assert.deepEqual([p.lo, p.change, p.hi], [-0.375, -0.25, -0.125]);
});

test("the typical speed-up is at most a half", () => {
  const [q] = questionsOf({ curves: [curve("a", [0.25, 0.5, 0.8].map((s) => effect(s, 0.1, 0)))] });
  assert.equal(typical(q.answer).speedup, 0.5);
  assert.equal(typical({ points: [{ speedup: 0.8, withheld: null }] }).speedup, 0.8);
  assert.equal(typical({ points: [] }), undefined);
  assert.equal(measured({ points: [{ withheld: { code: "other", text: "why" } }] }).length, 0);
});

test("a table shows 10, 25 and 50 % as far as they were asked", () => {
  const asked = (...speedups) => columnsOf(questionsOf({ curves: [curve("a", speedups.map((s) => effect(s, 0.1, 0)))] }));
  assert.deepEqual(asked(0.1, 0.25, 0.3125, 0.5, 0.75), [0.1, 0.25, 0.5]);
  assert.deepEqual(asked(0.2, 0.5), [0.5]);
  assert.deepEqual(asked(0.2, 0.4), [0.2, 0.4]);
  assert.deepEqual(asked(0.05, 0.15, 0.2, 0.4, 0.6), [0.05, 0.2, 0.6]);
  assert.deepEqual(asked(), []);
});

test("where modes lie furthest apart", () => {
  const update = questionsOf(profile).find((q) => q.name === "update");
  const [p, mode, other, otherMode] = apart(update);
  assert.deepEqual([mode, p.speedup, p.reduction, otherMode, other.speedup, other.reduction], ["overlap", 0.5, 0.3, "replay", 0.5, 0.2]);
  assert.equal(apart(questionsOf(profile).find((q) => q.name === "read")), null);
});

test("bounds hold zero, see ten points at least, and are not pressed flat by an open interval", () => {
  const of = (e, metric = "throughput") => bounds(questionsOf({ curves: [curve("a", [e], { metric })] })[0]);
  const { x, lo, hi } = of(effect(0.5, 0.2, 0.9));
  assert.equal(x, 0.5);
  assert.ok(lo < 0 && hi >= 0.25 && hi < 1, `${lo} ${hi}`);
  const flat = of(effect(0.5, 0, 0));
  assert.deepEqual([flat.lo, flat.hi].map((v) => +v.toFixed(3)), [-0.025, 0.075]);
  const latency = of(effect(0.5, 0, 0), "latency_p50");
  assert.deepEqual([latency.lo, latency.hi].map((v) => +v.toFixed(3)), [-0.075, 0.025]);
});

test("only a confirmed number is called so", () => {
  const e = (speedup, more) => ({ speedup, reduction: speedup, lo: speedup, hi: speedup, samples: 1, outliers: 0, verdict: "helps", ...more });
  const [q] = questionsOf({ curves: [{ mode: "replay", region: { scope: "", span: "a" }, progress: "p", metric: "throughput", verdict: "helps", evidence: "simulated and confirmed", effects: [e(0.1, { confirmed: true }), e(0.25)] }] });
  assert.deepEqual(q.answer.points.map((p) => p.confirmed), [true, false]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { bestBet, bets, bounds, gainOf, measured, plotsOf, typical, verdict, whyEmpty } from "../assets/curves.mjs";

const effect = (speedup, reduction, half) => ({
  speedup, reduction, lo: reduction - half, hi: reduction + half, throughput_gain: gainOf(reduction), samples: 20, outliers: 1,
});
const curve = (span, effects, progress = "checkout", scope = "db") => ({ region: { scope, span }, progress, base_period_ns: 5e6, effects });
const profile = {
  curves: [
    curve("update", [effect(0, 0, 0), effect(0.25, 0.1, 0.02), effect(0.5, 0.2, 0.02), effect(0.8, 0.3, 0.02)]),
    curve("noise", [effect(0.25, 0.01, 0.05)]),
    curve("held", [{ ...effect(0.25, 0, 0), withheld: "3 iterations, need 6" }]),
    curve("worse", [effect(0.25, -0.1, 0.02)]),
    curve("update", [effect(0.25, 0.05, 0.01)], "search", "web"),
  ],
};

test("one plot for each progress point", () => {
  const plots = plotsOf(profile);
  assert.deepEqual(plots.map((p) => [p.progress, p.curves.length, p.basePeriodNs]), [["checkout", 4, 5e6], ["search", 1, 5e6]]);
});

test("regions of one name are told apart by scope", () => {
  const [plot] = plotsOf({ curves: [curve("q", []), curve("q", [], "checkout", "web"), curve("r", [])] });
  assert.deepEqual(plot.curves.map((c) => c.label), ["q (db)", "q (web)", "r"]);
});

test("withheld effects and the reference have no number", () => {
  const [plot] = plotsOf(profile);
  assert.deepEqual(plot.curves.map((c) => measured(c).length), [3, 1, 0, 1]);
});

test("bets rank certain gains first, at a speed-up of at most a half", () => {
  const [plot] = plotsOf(profile);
  assert.deepEqual(bets(plot).map((b) => [b.curve.name, b.verdict, b.point.speedup]), [["update", "helps", 0.5], ["noise", "unclear", 0.25], ["worse", "harms", 0.25]]);
  assert.equal(typical({ points: [{ speedup: 0.8, withheld: "" }] }).speedup, 0.8);
  assert.equal(typical({ points: [] }), undefined);
});

test("the best bet is the strongest certain one", () => {
  const best = bestBet(profile);
  assert.deepEqual([best.curve.name, best.progress, best.point.speedup], ["update", "checkout", 0.5]);
  assert.equal(bestBet({ curves: [curve("noise", [effect(0.25, 0.01, 0.05)])] }), null);
  assert.equal(bestBet({ curves: [] }), null);
});

test("a reduction to nothing is an unbounded gain", () => {
  assert.equal(gainOf(0.5), 1);
  assert.equal(gainOf(1), null);
  assert.equal(verdict({ lo: 0.1, hi: null }), "helps");
  assert.equal(verdict({ lo: null, hi: null }), "unclear");
});

test("bounds hold zero and are not pressed flat by an open interval", () => {
  const [plot] = plotsOf({ curves: [curve("a", [effect(0.5, 0.2, 0.9)])] });
  const { x, lo, hi } = bounds(plot);
  assert.equal(x, 0.5);
  assert.ok(lo < 0 && hi >= 0.25 && hi < 1, `${lo} ${hi}`);
  assert.deepEqual(bounds({ curves: [] }), { x: 0.1, lo: 0, hi: 0.02 });
});

test("there is always a reason for no number", () => {
  for (const state of ["idle", "waiting", "running", "stopped", "expired", "spent", "aborted"]) {
    assert.equal(whyEmpty({ enabled: true, state }, {}).length, 1, state);
  }
  const all = whyEmpty({ enabled: false, state: "idle", last_error: "bad key" }, { notes: ["no visits"] });
  assert.equal(all.length, 4);
  assert.match(all[2], /bad key/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { bestOf, busiest, cpuPart, findingOf, goalText, goalsOf, rowsOf, sentences, spread } from "../assets/overviewrows.mjs";

// Effects and curves have the API's verdicts.
const effect = (speedup, reduction, half = 0.01, verdict = reduction > 0 ? "helps" : reduction < 0 ? "hurts" : "none") => ({
  speedup, reduction, lo: reduction - half, hi: reduction + half, samples: 9, outliers: 0, verdict,
});
const curve = (span, effects, more = {}) => ({
  mode: "overlap", region: { scope: "shop", span }, progress: "POST /orders", metric: "throughput", base_period_ns: 2e6,
  verdict: "helps", effects, ...more,
});
const region = (name, self, more = {}) => ({ scope: "shop", name, kind: "internal", self_ns: self * 1e9, self_share: self / 100, ...more });
const held = { ...effect(0.25, 0), withheld: { code: "few_iterations", text: "3 iterations measured, 5 are needed" } };
const orders = { progress: "POST /orders", metric: "throughput" };
const profile = {
  plan_id: "p",
  curves: [
    curve("price cart", [effect(0.25, 0), effect(0.5, 0)], { verdict: "none" }),
    curve("reserve stock", [effect(0.1, 0.1), effect(0.25, 0.237, 0.017), effect(0.5, 0.49)], { disagrees: [] }),
    curve("reserve stock", [effect(0.25, 0.2)], { mode: "replay" }),
    curve("update", [effect(0.1, 0.05), effect(0.2, 0.1)], { mode: "replay" }),
    curve("log", [effect(0.25, -0.2)], { verdict: "hurts" }),
    curve("noise", [effect(0.25, 0.01, 0.4, "unclear")], { verdict: "unclear" }),
    curve("held", [held], { verdict: "withheld" }),
    curve("reserve stock", [effect(0.25, 0.2, 0.02)], { metric: "latency_p99", mode: "replay" }),
  ],
};
const regions = [
  region("POST /orders", 40, { kind: "server" }), region("price cart", 23), region("reserve stock", 10), region("update", 8),
  region("log", 7), region("noise", 6), region("held", 4), region("pack", 1.5), region("GET /orders", 0.5, { kind: "server" }),
];
const named = (name, rows) => rows.find((r) => r.region.name === name);

test("rows stand by what they bring, not by how hot they are", () => {
  const rows = rowsOf(regions, profile, orders);
  assert.deepEqual(rows.map((r) => [r.label, r.verdict]), [
    ["reserve stock", "helps"], ["update", "helps"], ["price cart", "none"], ["noise", "unclear"], ["log", "hurts"],
    ["held", "withheld"], ["POST /orders", "unasked"], ["pack", "unasked"], ["GET /orders", "unasked"],
  ]);
  assert.equal(new Set(rows.map((r) => r.key)).size, rows.length);
});

test("a row has the number at 25 %, or at the largest speed-up, of the experiment where it has one", () => {
  const rows = rowsOf(regions, profile, orders);
  assert.equal(named("reserve stock", rows).question.answer.mode, "overlap");
  assert.equal(named("reserve stock", rows).point.speedup, 0.25);
  assert.equal(named("reserve stock", rows).point.reduction, 0.237);
  assert.equal(named("update", rows).point.speedup, 0.2);
  const replayed = rowsOf(regions, { curves: [curve("held", [held], { verdict: "withheld" }), curve("held", [effect(0.25, 0.1)], { mode: "replay" })] }, orders);
  assert.equal(named("held", replayed).question.answer.mode, "replay");
  assert.equal(named("held", replayed).point.reduction, 0.1);
});

test("what is sure at another speed-up alone is not clear at this one", () => {
  const row = named("log", rowsOf(regions, { curves: [curve("log", [effect(0.25, 0.01, 0.02, "unclear"), effect(0.5, -0.2)], { verdict: "hurts" })] }, orders));
  assert.deepEqual([row.verdict, row.why, row.nothing], ["unclear", "not clear at 25 %", false]);
});

test("what recordings are sure of is not hidden by an experiment that agrees at another speed-up alone", () => {
  const both = (verdict) => named("log", rowsOf(regions, { curves: [
    curve("log", [effect(0.25, 0.1, 0.2, "unclear"), effect(0.5, 0.4)]), curve("log", [effect(0.25, verdict === "helps" ? 0.2 : -0.2)], { mode: "replay", verdict }),
  ] }, orders));
  assert.deepEqual([both("helps").verdict, both("helps").answer.mode, both("helps").others.map(([mode]) => mode)], ["helps", "replay", ["overlap"]]);
  assert.deepEqual([both("hurts").verdict, both("hurts").answer.mode], ["unclear", "overlap"]);
});

test("a row without a number says why", () => {
  const why = (name, p = profile, goal = orders, recording = { on: false }) => named(name, rowsOf(regions, p, goal, recording)).why;
  assert.equal(why("held"), "3 iterations measured, 5 are needed");
  assert.equal(why("POST /orders"), "is the unit of work itself");
  assert.equal(why("GET /orders"), "is another unit of work");
  assert.equal(why("pack", { plan_id: "p", curves: [] }), "not in the plan");
  assert.equal(why("pack", { plan_id: "p", curves: [] }, null, { on: true }), "no number yet");
  assert.equal(why("pack"), "no number for POST /orders yet");
  assert.equal(why("pack", { curves: [] }, null), ""); // said once, above
  assert.equal(why("pack", { curves: [], recorded: { windows: 1 } }, null), "no number yet");
  assert.equal(why("price cart"), "no effect");
});

test("a progress point that also is a region comes after the others", () => {
  const p = { curves: [curve("POST /orders", [effect(0.25, 0.25)], { progress: "GET /orders" }), curve("update", [effect(0.25, 0.1)], { progress: "GET /orders" }), curve("update", [effect(0.25, 0.1)])] };
  const goal = { progress: "GET /orders", metric: "throughput" };
  const rows = rowsOf(regions, p, goal);
  assert.deepEqual(rows.slice(0, 2).map((r) => r.label), ["update", "POST /orders"]);
  assert.match(sentences(rows, goal)[0], /^Speeding up update by 25 %/);
});

test("names that two scopes share are told apart, and so are their numbers", () => {
  const two = [region("read", 5), region("read", 3, { scope: "db" })];
  const rows = rowsOf(two, { curves: [curve("read", [effect(0.25, 0.1)], { region: { scope: "db", span: "read" } })] }, orders);
  assert.deepEqual(rows.map((r) => [r.label, r.verdict]), [["read (db)", "helps"], ["read (shop)", "unasked"]]);
});

test("the sentence says what to speed up, what it brings, and what is hot for nothing", () => {
  const say = (list, p, goal = orders) => sentences(rowsOf(list, p, goal), goal);
  assert.deepEqual(say(regions, profile), [
    "Speeding up reserve stock by 25 % would raise the throughput of POST /orders by 31 % (28 to 34).",
    "price cart takes 2.3 times as much time and would bring nothing.",
  ]);
  const cool = regions.map((r) => (r.name === "price cart" ? region("price cart", 3.1) : r));
  assert.equal(say(cool, profile)[1], "price cart takes 3.1 % of the time and would bring nothing.");
  assert.deepEqual(say(regions, profile, { progress: "POST /orders", metric: "latency_p99" }),
    ["Speeding up reserve stock by 25 % would lower latency p99 of POST /orders by 20 % (18 to 22)."]);
});

test("a region brings nothing where one mode is sure of it and none contradicts", () => {
  const row = (disagrees) => named("price cart", rowsOf(regions, { curves: [
    curve("price cart", [effect(0.25, -0.01, 0.05, "unclear")], { verdict: "unclear", disagrees }), curve("price cart", [effect(0.25, 0)], { mode: "replay", verdict: "none" }),
  ] }, orders));
  assert.equal(row([]).nothing, true);
  assert.deepEqual([row([]).question.answer.mode, row([]).others.map(([mode]) => mode)], ["replay", ["overlap"]]);
  assert.equal(row(["replay"]).nothing, false);
  assert.equal(named("noise", rowsOf(regions, profile, orders)).nothing, false);
});

test("the sentence does not say more than is known", () => {
  const say = (curves, goal = orders) => sentences(rowsOf(regions, { curves }, goal), goal);
  assert.deepEqual(say([]), []);
  assert.deepEqual(say([curve("held", [held], { verdict: "withheld" })]), []);
  assert.deepEqual(say([curve("noise", [effect(0.25, 0.01, 0.4, "unclear")], { verdict: "unclear" })]), ["What would improve throughput of POST /orders is not clear yet: perhaps noise.", "25 % faster, it would change the throughput of POST /orders by −28 to 69 %."]);
  assert.deepEqual(say([curve("price cart", [effect(0.25, 0)], { verdict: "none" })]), ["No measured region would change throughput of POST /orders: what limits it is not among them."]);
  assert.deepEqual(say([curve("price cart", [effect(0.25, 0.01, 0.005, "little")], { verdict: "little" })]), ["No measured region would change throughput of POST /orders: what limits it is not among them."]);
  assert.deepEqual(say([curve("update", [effect(0.25, 0.05, 0.06, "unclear")])]),
    ["What would improve throughput of POST /orders is not clear yet: perhaps update.", "25 % faster, it would change the throughput of POST /orders by −1.0 to 12 %."]);
  assert.equal(say([curve("update", [effect(0.25, 0.05, 0.06, "unclear")], { verdict: "unclear", leads: true })])[0], "update matters most for throughput of POST /orders; how much is not clear yet.");
  assert.deepEqual(say([curve("update", [{ ...effect(0.25, 0.2), lo: 0.15, hi: 0.24, loose: true }])]),
    ["Speeding up update by 25 % would raise the throughput of POST /orders by between 18 and 32 %; an experiment narrows this."]);
  assert.deepEqual(say([curve("update", [{ ...effect(0.25, 0.2), lo: 0.15, hi: 0.24, loose: true }], { mode: "slowdown" })]),
    ["Speeding up update by 25 % would raise the throughput of POST /orders by between 18 and 32 %."]);
  assert.deepEqual(say([curve("update", [effect(0.25, 0.05, 0.045)])]), ["Speeding up update by 25 % would raise the throughput of POST /orders by 5.3 % (0.5 to 10)."]);
  assert.deepEqual(say([curve("update", [{ ...effect(0.5, 0.6), hi: 1.2 }])]), ["Speeding up update by 50 % would raise the throughput of POST /orders by 150 % (144 to unbounded)."]);
  assert.deepEqual(say([curve("update", [{ ...effect(0.75, 1.1), lo: 0.5 }])]), ["Speeding up update by 75 % would raise the throughput of POST /orders by more than 100 %."]);
  const apart = [curve("update", [effect(0.25, 0.1)], { disagrees: ["replay"] }), curve("update", [effect(0.25, 0.2)], { mode: "replay", disagrees: ["overlap"] })];
  assert.equal(say(apart)[1], "The modes disagree about it.");
});

test("goals: what is planned first, throughput before latency", () => {
  const p = { curves: [curve("a", [effect(0.25, 0.5)], { progress: "search" }), curve("a", [effect(0.25, 0.1)], { metric: "latency_p50" }), curve("a", [effect(0.25, 0.1)])] };
  const texts = (plan) => goalsOf(p, plan).map(goalText);
  assert.deepEqual(texts(null), ["throughput of search", "throughput of POST /orders", "latency p50 of POST /orders"]);
  assert.deepEqual(texts({ progress: [{ span: "POST /orders" }] }), ["throughput of POST /orders", "latency p50 of POST /orders", "throughput of search"]);
  const open = { ...p, recorded: { progress: [...new Set(p.curves.map((c) => c.progress))].map((progress) => ({ progress, loop: "open" })) } };
  assert.match(goalText(goalsOf(open, null)[0]), /^latency/);
  assert.deepEqual(goalsOf({ curves: [] }, null), []);
});

test("the axis has zero, all effects, and most of their intervals", () => {
  const range = (...curves) => spread(rowsOf(regions, { curves }, orders));
  const same = ({ lo, hi }, wantLo, wantHi) => assert.ok(Math.abs(lo - wantLo) < 1e-9 && Math.abs(hi - wantHi) < 1e-9, `${lo} … ${hi}`);
  same(range(), -0.025, 0.075);
  // 20 % less time for each is 25 % more throughput, and an interval reaches three times as far at most.
  same(range(curve("update", [effect(0.25, 0.2)]), curve("noise", [{ ...effect(0.25, -0.05), lo: -50, hi: 3 }], { verdict: "unclear" })), -0.75, 0.75);
});

test("a row says where hot and important differ", () => {
  const tension = (name, list = regions) => named(name, rowsOf(list, profile, orders)).tension;
  assert.equal(tension("reserve stock"), "matters more than its time");
  assert.equal(tension("price cart"), "hot, but brings nothing");
  assert.equal(tension("price cart", [region("price cart", 3)]), "");
  assert.equal(tension("reserve stock", [region("reserve stock", 80)]), "");
  assert.equal(tension("noise"), "");
  assert.equal(tension("pack"), "");
});

test("the part of the time that a region has a CPU for", () => {
  const pmu = (mean) => ({ means: [{ name: "minor_faults", mean: 9 }, { name: "cpu_time", unit: "ns", mean }] });
  assert.equal(cpuPart({ pmu: pmu(20), mean_ns: 80 }), 0.25);
  assert.equal(cpuPart({ pmu: pmu(90), mean_ns: 80 }), 1);
  assert.equal(cpuPart({ mean_ns: 80 }), null);
  assert.equal(cpuPart({ pmu: { means: [] }, mean_ns: 80 }), null);
  const busy = regions.map((r) => (r.name === "reserve stock" ? { ...r, pmu: pmu(20), mean_ns: 80 } : r));
  assert.equal(sentences(rowsOf(busy, profile, orders), orders).at(-1), "reserve stock uses a CPU for 25 % of its time: for the rest it waits.");
});

test("without a plan, the root of most requests is the goal", () => {
  const p = { curves: [curve("a", [effect(0.25, 0.5)], { progress: "search" }), curve("a", [effect(0.25, 0.1)])] };
  assert.equal(goalsOf(p, undefined, "POST /orders")[0].progress, "POST /orders");
});

test("the page begins with the region that helps most, and plans for the busiest unit of work", () => {
  assert.equal(bestOf(rowsOf(regions, profile, orders)).region.name, "reserve stock");
  assert.equal(bestOf(rowsOf(regions, { curves: [] }, null)), undefined);
  const kinds = [{ name: "a", kind: "internal", count: 9 }, { name: "b", kind: "server", count: 1 }, { name: "c", kind: "consumer", count: 2 }];
  assert.equal(busiest(kinds), "c");
  assert.equal(busiest([]), "");
});

test("where nothing helps a throughput, a latency of the same work that is known comes first", () => {
  const p = { curves: [
    curve("update", [effect(0.25, 0.05, 0.2, "unclear")], { verdict: "unclear" }), curve("update", [effect(0.25, 0.4)], { metric: "latency_p50" }),
    curve("pack", [effect(0.25, 0.4)], { progress: "GET /orders" }),
  ] };
  const goals = goalsOf(p, { progress: [{ span: "POST /orders" }] });
  const found = (profile) => findingOf(goals[0], goals, (g) => rowsOf(regions, profile, g));
  const { best, goal, said } = found(p);
  assert.deepEqual([best.label, goal.metric], ["update", "latency_p50"]);
  assert.match(said[0], /^Speeding up update by 25 % would lower latency p50 of POST \/orders by 40 %/);
  assert.match(said[1], /^What would improve throughput of POST \/orders is not clear/);
  const sure = { curves: [curve("update", [effect(0.25, 0.2)]), p.curves[1]] };
  assert.equal(found(sure).goal.metric, "throughput");
  assert.equal(found({ curves: [] }).best, undefined);
});

test("the unit of work is not ranked as helping itself", () => {
  const rows = rowsOf(regions, { curves: [curve("POST /orders", [effect(0.25, 0.25)]), curve("update", [effect(0.25, 0.1)])] }, orders);
  const { verdict, why, point } = named("POST /orders", rows);
  assert.deepEqual([verdict, why, point], ["unasked", "is the unit of work itself", null]);
});

test("what hurts is not what would perhaps improve", () => {
  const curves = [curve("price cart", [effect(0.25, 0)], { verdict: "none" }), curve("log", [effect(0.25, -0.2)], { verdict: "hurts" })];
  assert.doesNotMatch(sentences(rowsOf(regions, { curves }, orders), orders).join(" "), /perhaps log/);
});

test("a planned goal may have a star in its name", () => {
  const p = { curves: [curve("a", [effect(0.25, 0.5)], { progress: "search" }), curve("a", [effect(0.25, 0.1)], { progress: "GET /static/*" })] };
  assert.equal(goalsOf(p, { progress: [{ span: "GET /static/\\*" }] })[0].progress, "GET /static/*");
});

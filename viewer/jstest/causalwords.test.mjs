import assert from "node:assert/strict";
import { test } from "node:test";
import { baseText, briefly, disagreement, handoverText, metricName, nextStep, numberText, planCommand, planDraft, priceText, reasons, unseenText, verdictText, whyEmpty } from "../assets/causalwords.mjs";
import { questionsOf } from "../assets/curves.mjs";

const effect = (speedup, reduction, more = {}) => ({ speedup, reduction, lo: reduction - 0.01, hi: reduction + 0.01, samples: 9, outliers: 0, ...more });
const curve = (span, verdict, effects, more = {}) => ({
  mode: "overlap", region: { scope: "", span }, progress: "POST /orders", metric: "throughput", base_period_ns: 2e6, verdict, effects, ...more,
});
const first = (...curves) => questionsOf({ curves })[0];
const idle = { plan: null, status: { enabled: true, state: "idle" }, replaceable: false };

test("a verdict in words", () => {
  const words = (verdict, more) => verdictText(first(curve("a", verdict, [effect(0.5, 0.2)], more)).curves[0]);
  assert.equal(words("helps"), "speeding this up helps");
  assert.equal(words("helps", { knee: 0.3 }), "helps until 30 %, then something else is the bottleneck");
  assert.equal(words("hurts", { knee: 0.3 }), "speeding this up hurts");
  assert.equal(words("none"), "no effect");
  assert.equal(words("of a later version"), "of a later version");
  assert.equal(briefly("unclear"), "not clear");
  assert.equal(briefly("little"), "hardly any effect");
});

test("withheld numbers say why, once each", () => {
  const of = (...effects) => first(curve("a", effects.every((e) => e.withheld) ? "withheld" : "unclear", effects)).curves[0];
  const held = (speedup, code, text) => effect(speedup, 0, { withheld: { code, text } });
  const none = of(held(0.1, "not_inserted", "only 71 % of the delays could be inserted"), held(0.25, "not_inserted", "only 71 % of the delays could be inserted"));
  assert.deepEqual(reasons(none), ["only 71 % of the delays could be inserted"]);
  assert.equal(verdictText(none), "no number yet");
  assert.deepEqual(reasons(of(held(0.1, "few_iterations", "4 measured (7 visits)"), held(0.25, "few_iterations", "4 measured (9 visits)"), effect(0.5, 0.1))), ["at 10 %, 25 %: 4 measured (9 visits)"]);
  assert.deepEqual(reasons(of(held(0.1, "owed", "6.1 % were owed"), held(0.25, "owed", "1.6 % were owed"))), ["1.6 % were owed"]);
  assert.deepEqual(reasons(of(held(0.1, "other", "this"), held(0.25, "other", "that"))), ["at 10 %: this", "at 25 %: that"]);
  assert.deepEqual(reasons(of(effect(0.5, 0.1))), []);
});

test("a disagreement names both numbers, and whom to believe", () => {
  const a = curve("a", "", [effect(0.1, 0.1), effect(0.5, 0.3)], { disagrees: ["replay"] });
  const b = curve("a", "", [effect(0.1, 0.1), effect(0.5, 0.4)], { mode: "replay", disagrees: ["overlap"] });
  const words = disagreement(first(a, b)).replaceAll("\u00a0", " ");
  assert.match(words, /^The modes disagree: 50 % faster gives \+42\.9 % \(\+40\.8 … \+44\.9 %\) by overlap, but \+66\.7 % .* by replay\. .*believe the experiment/);
  assert.equal(disagreement(first(curve("a", "", [effect(0.5, 0.3)]))), "");
  assert.equal(disagreement(first({ ...a, effects: [effect(0.2, 0.1)] }, b)), "The modes disagree.");
});

test("metrics have names and a value of now", () => {
  assert.equal(metricName("latency_p99.9"), "latency p99.9");
  assert.equal(baseText({ metric: "throughput", baseNs: 2e6 }), "now 500 per second, one every 2 ms");
  assert.equal(baseText({ metric: "throughput", baseNs: 30e9 }), "now 2 per minute, one every 30 s");
  assert.equal(baseText({ metric: "latency_p50", baseNs: 8e6 }), "now 8 ms");
  assert.equal(baseText({ metric: "latency_p50", baseNs: 0 }), "");
});

test("there is always a reason for no number", () => {
  const profile = { plan_id: "p", curves: [] };
  for (const state of ["idle", "waiting", "running", "stopped", "expired", "spent", "aborted", "withheld"]) {
    assert.equal(whyEmpty({ enabled: true, state }, profile).length, 1, state);
  }
  assert.match(whyEmpty({ enabled: true, state: "expired" }, profile)[0], /for longer, or with fewer regions/); // the program may allow no longer life
  const all = whyEmpty({ enabled: false, state: "idle", last_error: "bad key", recording: { on: false, recordings: 0 } }, { curves: [], notes: ["no visits"] });
  assert.equal(all.length, 4);
  assert.match(all[0], /Recordings.*are off/);
  assert.match(all[2], /bad key/);
  assert.match(whyEmpty({ enabled: true, state: "idle", recording: { on: true, recordings: 0 } }, { curves: [] })[0], /Recordings are on/);
});

test("where too little was measured, it says how more comes", () => {
  const held = [effect(0.1, 0, { withheld: { code: "few_iterations", text: "in whatever words" } })];
  const of = (mode, state, effects = held) => nextStep(first(curve("a", "", effects, { mode })).curves[0], state);
  assert.match(of("replay", "idle"), /comes by itself/);
  assert.match(of("overlap", "running"), /run on/);
  assert.match(of("overlap", "spent"), /again for longer/);
  assert.equal(of("overlap", "running", [effect(0.1, 0, { withheld: { code: "saturated", text: "processors were short" } })]), "");
  assert.equal(of("overlap", "running", [effect(0.1, 0.1)]), "");
});

test("it says who saw the waits, and what was not seen", () => {
  assert.match(handoverText("runtime"), /Go's scheduler/);
  assert.match(handoverText("wrappers"), /causal\.Mutex/);
  assert.equal(handoverText(undefined), "");
  const of = (attributed_ns, unattributed_ns) => unseenText({ waiting: [{ mode: "overlap", attributed_ns, unattributed_ns }] }, "overlap");
  assert.equal(unseenText({}, "overlap"), "");
  assert.match(of(0, 0), /^No goroutine/);
  assert.match(of(2e9, 0), /all waits that were seen, 2 s\.$/);
  assert.match(of(3e9, 1e9), /1 s of 4 s of waiting \(25 %\)/);
});

test("a draft is a plan of ten minutes for this program", () => {
  const questions = questionsOf({ curves: [curve("reserve", "helps", [effect(0.5, 0.3)])] });
  const draft = planDraft({ questions, progress: "POST /orders", metric: "throughput", service: 'a "shop"', now: 1e12 });
  assert.match(draft, /^id: page-1000000000$/m);
  assert.match(draft, /^generation: 1000000000$/m);
  assert.match(draft, /^expires_at: 2001-09-09T01:56:40Z$/m);
  assert.match(draft, /^target: \{service: "a \\"shop\\""\}$/m);
  assert.match(draft, /^regions:\n  - span: "reserve"\n  - auto: 2\nprogress:\n  - \{span: "POST \/orders", type: throughput\}$/m);
  assert.match(planDraft({ questions: [], progress: "", metric: "latency_p50", service: "" }), /^mode: slowdown\nregions:\n  - auto: 3\nprogress:\n  - \{span: "POST \/checkout", type: latency\} {3}#/m);
});

test("a plan to copy asks about what seems worth it", () => {
  const questions = questionsOf({ curves: [curve("reserve *", "helps", [effect(0.5, 0.3)]), curve("POST /orders", "helps", [effect(0.5, 0.5)])] });
  const ask = (more) => planCommand({ questions, progress: "POST /orders", metric: "throughput", plan: idle, base: "http://localhost:6060/", now: 1e12, ...more });
  assert.equal(ask(), `cat > plan.yaml <<'EOF'
api: causal/v1
id: look-999999960
expires_at: 2001-09-09T02:16:00Z
regions:
  - span: "reserve \\\\*"
progress:
  - {span: "POST /orders", type: throughput}
EOF
`);
  assert.match(ask({ questions: [], progress: "" }), /auto: 3 .*\n.*\n.*"POST \/checkout", type: throughput\} {3}#/);
  assert.match(ask({ metric: "latency_p99" }), /type: latency/);
  const from = (plan_file) => ask({ plan: { ...idle, status: { plan_file } } }).split("\n")[0];
  assert.equal(from("/etc/otelprof/plan.yaml"), "cat > /etc/otelprof/plan.yaml <<'EOF'");
  assert.equal(from("it's $HOME.yaml"), "cat > 'it'\\''s $HOME.yaml' <<'EOF'");
  assert.match(ask({ plan: { ...idle, replaceable: true } }), /^curl -X PUT -H "Authorization: Bearer \$TOKEN" --data-binary @- 'http:\/\/localhost:6060\/api\/v1\/causal\/plan' <<'EOF'\n/);
});

test("loose bounds are shown as an interval alone", () => {
  const p = { change: 0.25, lo: 0.18, hi: 0.31 };
  assert.equal(numberText(p).replaceAll("\u00a0", " "), "+25.0 % (+18.0 … +31.0 %)");
  assert.equal(numberText({ ...p, loose: true }).replaceAll("\u00a0", " "), "+18.0 … +31.0 %");
});

test("the price is that of the plans that are written", () => {
  const plan = { progress: "POST /orders", metric: "throughput", questions: [], service: "", now: 0 };
  const draft = planDraft(plan);
  assert.match(draft, /^expires_at: 1970-01-01T00:10:00Z$/m);
  assert.match(draft, /auto: 3\n[^]*duty: 5%/);
  assert.match(priceText(true), /up to three regions now and then, for 10 minutes at most, and takes at most 3 % of the throughput\.$/);
  assert.match(planCommand({ ...plan, plan: idle, base: "" }), /^expires_at: 1970-01-01T00:30:00Z$/m);
  assert.match(priceText(false), /for 30 minutes at most, .*; the program must opt in first, by OTELPROF_EXPERIMENTS=on\.$/);
});

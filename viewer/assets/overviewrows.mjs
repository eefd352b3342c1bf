// Regions beside what the causal profile says of them, ranked by that. No access to the page.

import { isThroughput, measured, plainName, questionsOf, rankOf } from "./curves.mjs";
import { briefly, metricName, reasons, verdictText } from "./causalwords.mjs";
import { percent } from "./format.mjs";

const usual = 0.25; // the speed-up that rows are compared at

/** goalsOf are what could get better: what is planned or the root first, then what can change by the loop, then by answer. */
export function goalsOf(profile, plan, root = "") {
  const goals = new Map();
  for (const q of questionsOf(profile)) {
    const key = JSON.stringify([q.progress, q.metric]);
    if (!goals.has(key)) goals.set(key, { key, progress: q.progress, metric: q.metric });
  }
  const planned = (g) => (plan?.progress ?? [{ span: root }]).some((p) => plainName(p.span) === g.progress);
  const isOpen = (g) => profile.recorded?.progress?.some((p) => p.progress === g.progress && p.loop === "open") ?? false;
  const rank = (g) => 2 * !planned(g) + (isThroughput(g.metric) === isOpen(g)); // in an open loop throughput cannot change
  return [...goals.values()].sort((a, b) => rank(a) - rank(b)); // stable
}

/** goalText names a goal. */
export const goalText = (g) => `${metricName(g.metric)} of ${g.progress}`;

/**
 * rowsOf joins regions and questions about one goal: what helps comes first, in the profile's order,
 * then what is unclear or next to nothing, what hurts, and regions without a number; the longest self time
 * first among equals. Without a goal there are no questions. Recordings that are on will answer.
 */
export function rowsOf(regions, profile, goal, recording) {
  const asked = new Map();
  for (const q of goal ? questionsOf(profile) : []) {
    if (q.progress === goal.progress && q.metric === goal.metric) asked.set(keyOf(q), q);
  }
  const names = new Map();
  for (const r of regions) names.set(r.name, (names.get(r.name) ?? 0) + 1);
  const rows = regions.map((region) => {
    const question = (region.name !== goal?.progress && asked.get(keyOf(region))) || null; // the unit itself helps by definition
    const answer = question ? answerOf(question) : null;
    const point = answer ? pointOf(answer) : null;
    const label = names.get(region.name) > 1 && region.scope ? `${region.name} (${region.scope})` : region.name;
    const known = point ? verdictAt(answer, point) : question ? "withheld" : "unasked";
    return {
      key: JSON.stringify([region.scope, region.scope_version, region.name, region.scope_schema_url]), region, label, question, answer, point,
      verdict: known,
      inferred: profile.recorded?.inferred === true,
      others: point ? numbersAt(question, point).filter(([mode]) => mode !== answer.mode) : [],
      nothing: weak.includes(known) && isNothing(question, point),
      tension: tensionOf(region, question, point, known),
      why: !point ? whyNone(region, question, profile, goal, recording)
        : known === answer.verdict ? verdictText(answer) : `${briefly(known)} at ${percent(point.speedup)}`,
    };
  });
  const rank = (r) => rankOf(r.verdict);
  const order = [...asked.values()];
  const place = (r) => (r.verdict === "helps" ? order.indexOf(r.question) : 0);
  // All work is in a progress point's own span, so that it helps by definition: it comes after the others.
  const isPoint = (r) => r.verdict === "helps" && r.question.isPoint;
  return rows.sort((a, b) => rank(a) - rank(b) || isPoint(a) - isPoint(b) || place(a) - place(b) || b.region.self_ns - a.region.self_ns);
}

const keyOf = ({ scope, name }) => JSON.stringify([scope, name]);

/** pointOf returns the number at the usual speed-up, or else at the largest that was measured; null without any. */
function pointOf(curve) {
  const points = measured(curve);
  return points.find((p) => p.speedup === usual) ?? points.at(-1) ?? null;
}

/** answerOf is the question's answer, or another mode's that is sure at the usual speed-up where it is not. */
function answerOf({ answer, curves }) {
  const sure = (c) => ["helps", "hurts"].includes(c.verdict) && c.points.some((p) => p.speedup === usual && p.verdict === c.verdict);
  return sure(answer) || weak.includes(answer.verdict) ? answer : curves.find((c) => sure(c) && c.verdict === answer.verdict) ?? answer;
}

const weak = ["unclear", "little", "none"];

/** verdictAt is the curve's verdict, or the point's where the curve has an effect: it may be sure at another speed-up. */
const verdictAt = (curve, point) => (weak.includes(curve.verdict) ? curve.verdict : point.verdict);

/** numbersAt returns [mode, point] for each mode that has a number at the same speed-up. */
const numbersAt = (question, { speedup }) => question.curves.flatMap((c) => measured(c).filter((p) => p.speedup === speedup).map((p) => [c.mode, p]));

/** isNothing: one mode is sure that the effect is next to nothing, and no other contradicts it. */
const isNothing = (question, point) => !question.disagree
  && numbersAt(question, point).some(([, p]) => p.verdict === "none" || p.verdict === "little");

/** tensionOf says where how hot a region is and how much it matters differ, "" where they do not. */
function tensionOf(region, question, point, known) {
  if (!point || question.isPoint) return "";
  if (weak.includes(known)) return isNothing(question, point) && region.self_share >= 0.05 ? "hot, but brings nothing" : "";
  // A region that all work waits for, one piece after the other, has a reduction as large as its speed-up.
  return known === "helps" && point.reduction / point.speedup >= 2 * region.self_share ? "matters more than its time" : "";
}

/** cpuPart is the part of a region's time that its spans used a CPU for, null where that is not counted. */
export function cpuPart({ pmu, mean_ns: mean }) {
  const cpu = pmu?.means.find((m) => ["cpu_time", "task_clock"].includes(m.name));
  return cpu && mean > 0 ? Math.min(1, cpu.mean / mean) : null;
}

/** whyNone says in few words why a region has no number. */
function whyNone(region, question, profile, goal, recording) {
  if (question) return reasons(question.answer)[0] ?? "not measured yet";
  if (goal && region.name === goal.progress) return "is the unit of work itself";
  if (goal && ["server", "consumer"].includes(region.kind)) return "is another unit of work";
  const byItself = recording?.on || profile.recorded || profile.curves.some((c) => c.mode === "replay");
  if (!byItself) return profile.plan_id ? "not in the plan" : "";
  return goal ? `no number for ${goal.progress} yet` : "no number yet";
}

/** bestOf is the region that is most worth speeding up, if any is known to help. */
export const bestOf = (rows) => rows.find((r) => r.verdict === "helps" && !r.question.isPoint);

/** busiest names the unit of work that most spans are of, "" where there is none. */
export const busiest = (regions) => regions.filter((r) => ["server", "consumer"].includes(r.kind)).sort((a, b) => b.count - a.count)[0]?.name ?? "";

/**
 * sentences say what the rows show: what to speed up and what that brings, and the hottest
 * region that would bring nothing.
 */
export function sentences(rows, goal) {
  const best = bestOf(rows);
  const idle = rows.filter((r) => r.nothing).sort((a, b) => b.region.self_ns - a.region.self_ns)[0];
  if (!best) return noneIsSure(rows.filter((r) => r.point), goal);
  const out = [`Speeding up ${best.label} by ${percent(best.point.speedup)} would ${effectText(best.point, goal, best.inferred)}.`];
  if (best.question.disagree) out.push("The modes disagree about it.");
  if (idle && (idle.region.self_share >= 0.02 || idle.region.self_ns >= best.region.self_ns)) {
    const ratio = idle.region.self_ns / best.region.self_ns;
    const time = ratio >= 1.15 ? `${+ratio.toPrecision(2)} times as much time` : `${percent(idle.region.self_share)} of the time`;
    out.push(`${idle.label} takes ${time} and would bring nothing.`);
  }
  const part = cpuPart(best.region);
  if (part !== null && part <= 0.5) out.push(`${best.label} uses a CPU for ${percent(part)} of its time: for the rest it waits.`);
  return out;
}

/**
 * findingOf is what to say first: the best region for a goal, or where there is none for another goal of the same
 * progress point. at(goal) returns its rows.
 */
export function findingOf(goal, goals, at) {
  const said = sentences(at(goal), goal);
  const others = goals.filter((g) => g.progress === goal.progress && g.metric !== goal.metric);
  const other = bestOf(at(goal)) ? null : others.find((g) => bestOf(at(g)));
  if (!other) return { goal, best: bestOf(at(goal)), said };
  return { goal: other, best: bestOf(at(other)), said: [sentences(at(other), other)[0], ...said] };
}

/** noneIsSure words the answer where no region surely helps: of regions with numbers, which of them may. */
function noneIsSure(known, goal) {
  if (known.length === 0) return [];
  if (known.every((r) => r.nothing)) return [`No measured region would change ${goalText(goal)}: what limits it is not among them.`];
  const [first] = known.filter((r) => !r.question.isPoint && !r.nothing && r.verdict !== "hurts").sort((a, b) => b.point.reduction - a.point.reduction);
  if (!first) return [`It is not known yet what would improve ${goalText(goal)}.`];
  const range = `${percent(first.point.speedup)} faster, it would ${rangeText(first.point, goal)}`;
  return [first.answer.leads ? `${first.label} matters most for ${goalText(goal)}; how much is not clear yet.` : `What would improve ${goalText(goal)} is not clear yet: perhaps ${first.label}.`,
    `${range.charAt(0).toUpperCase()}${range.slice(1)}.`];
}

/** rangeText writes "change the throughput of POST /orders by −2 to 31 %". */
const rangeText = (p, goal) => `change the ${goalText(goal)} by ${points(p.lo)} to ${points(p.hi)}${p.hi === null ? "" : " %"}`;

/** effectText writes "raise the throughput of POST /orders by 31 % (28 to 34)", or, where bounds lie apart, "… by between 18 and 31 %; …". */
function effectText(p, goal, inferred) {
  const up = isThroughput(goal.metric);
  const [by, lo, hi] = up ? [p.change, p.lo, p.hi] : [-p.change, -p.hi, -p.lo];
  const what = `${up ? "raise the" : "lower"} ${goalText(goal)}`;
  if (p.loose && lo !== null && hi !== null) return `${what} by between ${points(lo)} and ${points(hi)} %${p.delayed ? "" : `; an experiment${inferred ? " or a build by otelprof" : ""} narrows this`}`;
  return by === null ? `${what} by more than ${points(lo)} %` : `${what} by ${points(by)} % (${points(lo)} to ${points(hi)})`;
}

/** points writes a part of one in percent points: "31", "4.2", "−0.5". */
export function points(v) {
  if (v === null) return "unbounded";
  return (100 * v).toFixed(Math.abs(v) < 0.0995 ? 1 : 0).replace("-", "−");
}

/**
 * spread returns the range of an axis for the effects of all rows, zero included. One wild
 * interval must not press all bars flat: it is cut at three times the largest effect.
 */
export function spread(rows) {
  const points = rows.filter((r) => r.point).map((r) => r.point);
  const at = points.map((p) => p.change ?? 1);
  const most = 3 * Math.max(0.1 / 3, ...at.map(Math.abs));
  const reach = (v) => Math.min(Math.max(v ?? Infinity, -most), most);
  const lo = Math.min(0, ...at, ...points.map((p) => reach(p.lo)));
  const hi = Math.max(0, ...at, ...points.map((p) => reach(p.hi)));
  const missing = Math.max(0, 0.1 - (hi - lo)); // noise looks small
  return { lo: lo - 0.25 * missing, hi: hi + 0.75 * missing };
}

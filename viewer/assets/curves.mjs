// The causal profile as questions and their answers, ranked. No access to the page.

/** modes are the ways to an answer, in the order in which to believe them, and how they work. */
export const modes = {
  slowdown: "an experiment: callers of the region are held, and what that costs is what as much less would bring, or more",
  overlap: "an experiment: all other work is delayed by what the region would save",
  dilation: "an experiment: every region but this one is made longer",
  replay: "nothing is delayed: a few seconds of the program were recorded, and simulated",
};
const modeNames = Object.keys(modes);
const ranks = { helps: 0, mixed: 1, unclear: 2, little: 2, none: 2, hurts: 3, withheld: 4 }; // of the verdicts that the API gives

/** rankOf orders verdicts, the best first; anything else comes last. */
export const rankOf = (verdict) => ranks[verdict] ?? 5;

/** isThroughput is true of a metric for which more is better. */
export const isThroughput = (metric) => (metric || "throughput") === "throughput";

/** changeOf turns a reduction into the change of the metric: throughput rises, latency falls; null beyond all bounds. */
export function changeOf(metric, reduction) {
  if (!isThroughput(metric)) return reduction === 0 ? 0 : -reduction;
  return reduction < 1 ? 1 / (1 - reduction) - 1 : null;
}

/** errorOf turns the standard error of a reduction into that of the change; null where it is not known or beyond all bounds. */
export function errorOf(metric, reduction, stdErr) {
  if (!(stdErr > 0)) return null;
  if (!isThroughput(metric)) return stdErr;
  return reduction < 1 ? stdErr / (1 - reduction) ** 2 : null; // by the slope of changeOf
}

/**
 * questionsOf returns what the profile answers: one question for each region, progress point and metric, with one curve for
 * each mode; by verdict, and within one in the profile's order, the best first.
 */
export function questionsOf(profile) {
  const questions = new Map();
  for (const curve of profile.curves) {
    const { scope, span } = curve.region;
    const metric = curve.metric || "throughput";
    const key = JSON.stringify([scope, span, curve.progress, metric]);
    const q = questions.get(key) ?? { key, scope, name: span, progress: curve.progress, metric, baseNs: 0, curves: [] };
    q.baseNs ||= curve.base_period_ns;
    q.curves.push(curveOf(curve, metric));
    questions.set(key, q);
  }
  const all = [...questions.values()];
  label(all);
  const points = new Set(all.map((q) => q.progress));
  for (const q of all) {
    q.curves.sort((a, b) => modeNames.indexOf(a.mode) - modeNames.indexOf(b.mode));
    // An experiment that has decided nothing so far does not hide what recordings show, and its bounds not a number that it confirms.
    q.answer = q.curves.find((c) => c.confirmed) ?? q.curves.find((c) => decided(c.verdict)) ?? q.curves.find((c) => c.verdict !== "withheld") ?? q.curves[0];
    q.disagree = q.curves.some((c) => c.disagrees.length > 0);
    q.isPoint = points.has(q.name);
  }
  // All work is in a progress point's own span, so that it helps by definition: it comes after the others.
  return all.sort((a, b) => rankOf(a.answer.verdict) - rankOf(b.answer.verdict) || a.isPoint - b.isPoint);
}

const decided = (verdict) => !["unclear", "withheld"].includes(verdict);

function curveOf(curve, metric) {
  const points = (curve.effects ?? []).filter((e) => e.speedup > 0).map((e) => pointOf(e, metric, curve.mode));
  return { mode: curve.mode || "dilation", points, knee: curve.knee ?? 0, confirmed: curve.evidence === "simulated and confirmed", leads: curve.leads === true, verdict: curve.verdict, disagrees: curve.disagrees ?? [] };
}

/** pointOf is an effect as the page shows it: the change of the metric, with its interval. */
export function pointOf(e, metric, mode) {
  const ends = [changeOf(metric, e.lo), changeOf(metric, e.hi)];
  const [lo, hi] = isThroughput(metric) ? ends : ends.reverse();
  return {
    speedup: e.speedup, reduction: e.reduction, verdict: e.verdict, loose: e.loose === true, confirmed: e.confirmed === true, delayed: mode === "slowdown", bounds: [e.lo, e.hi], change: changeOf(metric, e.reduction), error: errorOf(metric, e.reduction, e.std_err), lo, hi,
    samples: e.samples, outliers: e.outliers, withheld: e.withheld ?? null, warnings: e.warnings ?? [],
  };
}

/** label adds the scope to span names that two regions share. */
function label(questions) {
  const scopes = new Map();
  for (const q of questions) scopes.set(q.name, (scopes.get(q.name) ?? new Set()).add(q.scope));
  for (const q of questions) q.label = scopes.get(q.name).size > 1 && q.scope ? `${q.name} (${q.scope})` : q.name;
}

/** plainName is what a pattern without * and ? stands for: "GET \\*" for "GET *". */
export const plainName = (pattern) => pattern.replace(/\\([\\*?])/g, "$1");

/** measured returns the points that have a number. */
export const measured = (curve) => curve.points.filter((p) => !p.withheld);

/** typical returns the point at the largest measured speed-up of at most a half, which is what hard work may reach. */
export function typical(curve) {
  const points = measured(curve);
  return points.filter((p) => p.speedup <= 0.5).at(-1) ?? points[0];
}

/** columnsOf returns the speed-ups that a table shows: of 10, 25 and 50 % what was asked, or else some. */
export function columnsOf(questions) {
  const asked = [...new Set(questions.flatMap((q) => q.curves.flatMap((c) => c.points.map((p) => p.speedup))))].sort((a, b) => a - b);
  const usual = asked.filter((s) => [0.1, 0.25, 0.5].includes(s));
  if (usual.length > 0 || asked.length <= 3) return usual.length > 0 ? usual : asked;
  return [asked[0], asked[asked.length >> 1], asked.at(-1)];
}

/** apart returns where two modes that disagree lie furthest apart: [point, mode, other point, other mode], or null. */
export function apart(question) {
  let most = null;
  let gap = 0;
  for (const [i, a] of question.curves.entries()) {
    for (const b of question.curves.slice(i + 1).filter((c) => a.disagrees.includes(c.mode))) {
      for (const p of measured(a)) {
        const q = measured(b).find((x) => x.speedup === p.speedup);
        const between = q ? Math.max(p.bounds[0] - q.bounds[1], q.bounds[0] - p.bounds[1]) : 0;
        if (between > gap) [gap, most] = [between, [p, a.mode, q, b.mode]];
      }
    }
  }
  return most;
}

/** bounds returns the x and y ranges of a picture, with zero. At least ten points are seen, so that noise looks small. */
export function bounds(question) {
  let x = 0;
  let [lo, hi] = [0, 0];
  for (const p of question.curves.flatMap(measured)) {
    x = Math.max(x, p.speedup);
    lo = Math.min(lo, p.change, p.lo ?? p.change);
    // An interval without an upper end must not press all curves flat.
    hi = Math.max(hi, p.change, Math.min(p.hi ?? Infinity, 3 * Math.max(p.change, 0.05)));
  }
  const missing = Math.max(0, 0.1 - (hi - lo));
  const [below, above] = isThroughput(question.metric) ? [0.25, 0.75] : [0.75, 0.25];
  return { x: Math.max(x, 0.1), lo: lo - below * missing, hi: hi + above * missing };
}

// What the causal view says in words, and the commands it offers. No access to the page.

import { apart, isThroughput, typical } from "./curves.mjs";
import { change, duration, percent } from "./format.mjs";
import { whyNoRecording } from "./recordingwords.mjs";

/** metricName writes "latency_p99.9" as "latency p99.9". */
export const metricName = (metric) => metric.replace("_", " ");

/** interval writes two changes, to be broken in the middle at most: "+29.1 … +38.0 %". */
export const interval = (p) => `${change(p.lo).replace(" %", "")}\u00a0… ${change(p.hi).replace(" ", "\u00a0")}`;

/** numberText writes a change with its interval, of loose bounds the interval alone. */
export const numberText = (p) => (p.loose ? interval(p) : `${change(p.change)} (${interval(p)})`);

/** baseText is the metric with nothing changed. */
export function baseText(q) {
  if (!(q.baseNs > 0)) return "";
  if (!isThroughput(q.metric)) return `now ${duration(q.baseNs)}`;
  const perSecond = 1e9 / q.baseNs;
  const rate = perSecond >= 1 ? `${+perSecond.toPrecision(3)} per second` : `${+(60 * perSecond).toPrecision(3)} per minute`;
  return `now ${rate}, one every ${duration(q.baseNs)}`;
}

const verdicts = {
  helps: "speeding this up helps", mixed: "helps at some speed-ups, hurts at others", hurts: "speeding this up hurts",
  little: "hardly any effect", none: "no effect", unclear: "not clear yet", withheld: "no number yet",
};

/** verdictText is the verdict on a curve in words, without the numbers, which stand beside it. */
export function verdictText(curve) {
  if (curve.verdict === "helps" && curve.knee > 0) return `helps until ${percent(curve.knee)}, then something else is the bottleneck`;
  return verdicts[curve.verdict] ?? curve.verdict;
}

/** briefly is the verdict on one number in words. */
export const briefly = (verdict) => ({ helps: "helps", hurts: "hurts", unclear: "not clear" }[verdict] ?? verdicts[verdict] ?? verdict);

const tooFew = ["few_iterations", "few_windows"]; // the reasons that time takes away

/** nextStep says how more comes where too little was measured, "" elsewhere. */
export function nextStep(curve, state) {
  if (!curve.points.some((p) => tooFew.includes(p.withheld?.code))) return "";
  if (curve.mode === "replay") return "It comes by itself, with each recording: one a minute while this page is open.";
  return ["running", "waiting"].includes(state) ? "Let the plan run on: every round adds one." : "Apply the plan again for longer, or with fewer regions and speed-ups.";
}

/** handoverText says how experiments see which goroutine waits for which (happens-before). */
export function handoverText(handover) {
  return { runtime: "Go's scheduler: every wait of every goroutine",
    wrappers: "spans, causal.Mutex and the like" }[handover] ?? "";
}

/** unseenText says what a mode has not seen. */
export function unseenText(profile, mode) {
  const w = (profile.waiting ?? []).find((x) => x.mode === mode);
  if (!w) return "";
  const all = w.attributed_ns + w.unattributed_ns;
  if (all === 0) return "No goroutine was seen to wait for another.";
  return w.unattributed_ns === 0 ? `It is known who ended all waits that were seen, ${duration(all)}.`
    : `It is not known who ended ${duration(w.unattributed_ns)} of ${duration(all)} of waiting (${percent(w.unattributed_ns / all)}): what those would do is not in the numbers.`;
}

/** reasons are why numbers of a curve are withheld, once each, with the speed-ups they hold for. */
export function reasons(curve) {
  const at = new Map();
  for (const p of curve.points.filter((x) => x.withheld)) {
    const { code, text } = p.withheld;
    const key = code === "other" ? text : code; // its numbers differ from speed-up to speed-up: the last ones will do
    at.set(key, { why: text, speedups: [...(at.get(key)?.speedups ?? []), percent(p.speedup)] });
  }
  const all = at.size === 1 && curve.verdict === "withheld";
  return [...at.values()].map(({ why, speedups }) => (all ? why : `at ${speedups.join(", ")}: ${why}`));
}

const advice = { // by the mode that is believed less
  replay: "The simulation may lack a lock or a queue that it could only infer: believe the experiment if processors were free.",
};

/** disagreement says where two modes lie apart and whom to believe; "" where they do not. */
export function disagreement(q) {
  const found = apart(q);
  if (!found) return q.disagree ? "The modes disagree." : "";
  const [p, mode, other, otherMode] = found;
  return `The modes disagree: ${percent(p.speedup)} faster gives ${numberText(p)} by ${mode}, but `
    + `${numberText(other)} by ${otherMode}. ${advice[otherMode] ?? "Measure both again before you rely on either."}`;
}

/** whyEmpty says in sentences why there is no number yet, and what to do. */
export function whyEmpty(status, profile) {
  const out = whyNoRecording(status, profile);
  if (!status.enabled) {
    out.push("Experiments are off: the application has not opted in by the option WithExperiments, or OTELPROF_EXPERIMENTS=off forbids them.");
  }
  const said = {
    idle: status.enabled ? "No plan is in force. An experiment begins when one is applied." : "",
    waiting: status.plan?.not_before ? "A plan is in force and its time has not come." : "A plan is in force and waits to begin.",
    running: "Experiments are running. The first numbers come when every speed-up was measured five times.",
    stopped: "The plan was stopped before there were numbers. Apply it again with a higher generation.",
    expired: "The plan expired before there were numbers. Apply one for longer, or with fewer regions.",
    spent: "The plan used up its budget before there were numbers. Raise limits.total, or choose fewer regions.",
    withheld: `No number could be given, so the plan has ended${status.reason ? `: ${status.reason}` : ""}.`,
    aborted: "The breaker opened before there were numbers. Only a plan with another id runs now.",
  }[status.state];
  if (said) out.push(said);
  if (status.last_error) out.push(`The last plan document was rejected: ${status.last_error}`);
  return [...out, ...(profile.notes ?? [])];
}

/** planNames are the regions that seem worth an experiment, three at most. */
function planNames(questions) {
  return [...new Set(questions.filter((q) => q.answer.verdict === "helps" && !q.isPoint && typical(q.answer)).map((q) => q.name))].slice(0, 3);
}

/** priceText says what planDraft costs, or planCommand where experiments are off. */
export const priceText = (enabled) => `: it holds callers of up to three regions now and then, for ${enabled ? 10 : 30} minutes at most, and takes at most 3 % of the throughput${
  enabled ? "" : "; the program must opt in first, by OTELPROF_EXPERIMENTS=on"}.`; // Plan.Loss of duty 5 %

/** planDraft is a plan to start from, of ten minutes and a small budget. Its generation is the clock's. */
export function planDraft({ questions, progress, metric, service, now = Date.now() }) {
  const second = Math.floor(now / 1000);
  const names = planNames(questions);
  return `api: causal/v1
id: page-${second}
generation: ${second}
# author: you
# reason: why
expires_at: ${new Date(1000 * (second + 600)).toISOString().slice(0, 19)}Z
${service ? `target: {service: ${JSON.stringify(service)}}
` : ""}mode: slowdown
regions:
${names.map((n) => `  - span: ${pattern(n)}\n`).join("")}${names.length < 3 ? `  - auto: ${3 - names.length}\n` : ""}progress:
  - {span: ${pattern(progress || "POST /checkout")}, type: ${isThroughput(metric) ? "throughput" : "latency"}}${progress ? "" : "   # the span that is a unit of work"}
grid: {speedups: [0, 10, 25, 50]}
timing: {max_experiment: 20s}
limits: {per_span: 5ms, per_trace: 25ms, duty: 5%, total: 20s}
abort: {p99_ratio: 1.2, err_delta: 0.5%}
`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const pattern = (name) => JSON.stringify(name.replace(/[*?\\]/g, "\\$&"));

/**
 * planCommand is a shell command that starts an experiment on the regions worth one, at the
 * question's progress point: by the API where it takes plans, by the plan file elsewhere.
 */
export function planCommand({ questions, progress, metric, plan, base, now = Date.now() }) {
  const minute = Math.floor(now / 60e3) * 60; // in seconds
  const names = planNames(questions);
  const document = [
    "api: causal/v1",
    `id: look-${minute}`,
    `expires_at: ${new Date(1000 * (minute + 30 * 60)).toISOString().slice(0, 19)}Z`,
    "regions:",
    ...(names.length ? names.map((n) => `  - span: ${pattern(n)}`) : ["  - auto: 3   # those with the most self time"]),
    "progress:",
    `  - {span: ${progress ? pattern(progress) : '"POST /checkout"'}, type: ${isThroughput(metric) ? "throughput" : "latency"}}${progress ? "" : "   # the span that is a unit of work"}`,
  ].join("\n");
  const file = plan.status.plan_file || "plan.yaml";
  const head = plan.replaceable
    ? `curl -X PUT -H "Authorization: Bearer $TOKEN" --data-binary @- ${quoted(`${base}api/v1/causal/plan`)}`
    : `cat > ${/^[\w./-]+$/.test(file) ? file : quoted(file)}`;
  return `${head} <<'EOF'\n${document}\nEOF\n`;
}

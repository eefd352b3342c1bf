// The first view: what to optimise. Beside each region's share of time stands what it would bring if it were faster.

import { request, unlessRefused } from "./api.mjs";
import { noController, reasonBox } from "./causal.mjs";
import { signs } from "./causalparts.mjs";
import { changesOf } from "./changes.mjs";
import { briefly, disagreement, interval, numberText, planCommand, priceText } from "./causalwords.mjs";
import { button, h, isSaved, keyed, setAttr, setText, swap } from "./dom.mjs";
import { change, percent, plural } from "./format.mjs";
import { busiest, cpuPart, findingOf, goalText, goalsOf, rowsOf, spread } from "./overviewrows.mjs";
import { calibrationText, outcomeText, verdictOf } from "./outcomewords.mjs";
import { conditionsText, recordingText } from "./recordingwords.mjs";
import { known, noRegion, onCPU } from "./regions.mjs";
import { linear } from "./scale.mjs";

const ways = { slowdown: "experiment", overlap: "experiment", dilation: "experiment", replay: "recordings" };
const few = 10; // rows that are shown at first
const noProfile = { curves: [] }; // the profile of a process without a causal controller
const nothingSaid = { outcomes: [], held: 0, of: 0 };
const hasStacks = () => document.body.dataset.stacks === "true";

export function overviewView(context) {
  const headline = h("h2");
  const more = h("p", { class: "muted" });
  const next = h("p", { class: "next" }); // where to look for the reason
  const confirm = h("a", { class: "confirm" }, "Confirm by an experiment"); // which the plan is written for
  const price = h("span", { class: "price" });
  const recordings = h("p", { class: "muted recordings" });
  const lead = h("div", { class: "finding" }, headline, more, next, recordings);
  const advice = h("div", { class: "advice" });
  const goals = h("select", { onchange: () => { context.remember({ goal: goals.value }); draw(); } });
  const chooser = h("label", {}, "What should get better ", goals);
  const all = button("", { class: "quiet", onclick: () => { context.remember({ all: !asksAll() }); draw(); } });
  const effectHead = h("span");
  const table = h("table", { class: "overview", "data-alone": !context.hasCausal && !hasStacks() },
    h("caption", { class: "visually-hidden" }, "Regions, what helps most first: share of time, effect of a speed-up with its interval, p99 and work on the CPU"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "Region"), h("th", { scope: "col", class: "text" }, "Share of time"),
      h("th", { scope: "col", class: "text" }, effectHead), h("th", { scope: "col", class: "number" }, "p99"),
      h("th", { scope: "col", class: "number" }, "On the CPU"), h("th", { scope: "col", class: "text" }, "See"))));
  const note = h("ul", { class: "note" },
    h("li", {}, "Share of time is self time, in which no child was open: how hot a region is."),
    h("li", {}, "The effect beside it, with its interval of 95 %, is how much it matters."),
    h("li", {}, "On the CPU stand instructions per cycle (IPC), or else the CPU time of a span, and below it its part of the span: the rest is waiting."));
  const others = h("section", { class: "changes", "aria-label": "Built in another way" });
  const outcomes = h("section", { class: "changes", "aria-label": "Foretold, and what came" });
  const content = h("div", {}, lead, advice, h("div", { class: "toolbar" }, chooser), table, h("p", { class: "note" }, all), others, outcomes, note);
  const nothing = noRegion();
  const el = h("section", { class: "causal", "aria-label": "Overview" }, h("h1", { class: "visually-hidden" }, "What to optimise"), content, nothing);
  content.hidden = nothing.hidden = true;

  let data = null;
  let offered = "";

  const asksAll = () => context.query.get("all") === "1";

  /** chosenGoal offers the goals and returns the one that is chosen, null where there is none. */
  function chosenGoal(list) {
    const chosen = list.find((g) => g.key === context.query.get("goal")) ?? list[0] ?? null;
    const byText = list.toSorted((a, b) => goalText(a).localeCompare(goalText(b))); // stays as it is while answers change
    const now = JSON.stringify(byText);
    if (now !== offered) {
      offered = now;
      goals.replaceChildren(...byText.map((g) => h("option", { value: g.key }, goalText(g))));
    }
    chooser.hidden = list.length < 2;
    if (chosen && goals.value !== chosen.key) goals.value = chosen.key;
    return chosen;
  }

  function draw() {
    const { regions, profile, plan, root } = data;
    nothing.hidden = regions.length > 0;
    content.hidden = regions.length === 0;
    const list = goalsOf(profile, plan?.plan, root);
    const goal = chosenGoal(list);
    const rowsFor = (g) => rowsOf(regions, profile, g, plan?.status.recording);
    const rows = rowsFor(goal);
    const some = rows.some((r) => r.point);
    const isLong = rows.length > few + 2; // to hide one or two is not worth a button
    const shown = asksAll() || !isLong ? rows : rows.slice(0, few);
    const finding = goal ? findingOf(goal, list, (g) => (g === goal ? rows : rowsFor(g))) : { said: [] };
    const { said } = finding;
    setText(headline, said[0] ?? `What would help is not known${isSaved() ? "" : " yet"}`);
    setText(more, said.slice(1).join(" "));
    more.hidden = said.length < 2;
    explain(finding.best, finding.goal);
    setText(recordings, [isSaved() || !some ? "" : recordingText(plan?.status.recording), conditionsText(profile.recorded, goal?.progress)].filter(Boolean).join(" "));
    recordings.hidden = !recordings.textContent;
    const speedups = new Set(rows.filter((r) => r.point).map((r) => r.point.speedup));
    const [same] = speedups;
    setText(effectHead, goal && some ? `${goalText(goal)}, if ${speedups.size === 1 ? `${percent(same)} faster` : "faster"}` : "Effect");
    all.hidden = !isLong;
    setText(all, asksAll() ? `Show the first ${few}` : `Show all ${plural(rows.length, "region")}`);
    // A unit of work waits in its own time, mostly for what it calls: its bar may be cut, so that others are seen.
    const most = Math.max(...rows.filter((r) => r.region.name !== goal?.progress).map((r) => r.region.self_share), 1e-9);
    const axis = { most, goal, mixed: speedups.size > 1, range: spread(shown), causal: context.hasCausal };
    keyed(table, shown.map((row) => ({ row, axis })), (x) => x.row.key, overviewRow, 2); // behind the caption and the head
    setAttr(table, "data-counted", rows.some((r) => onCPU(r.region.pmu)[1]) || null);
    advise(some);
    other(goal);
    cameOf(data.said);
  }

  /** cameOf lists what was foretold of versions before, and what came. */
  function cameOf(said) {
    outcomes.hidden = said.outcomes.length === 0;
    const state = JSON.stringify(said);
    if (outcomes.hidden || outcomes.dataset.of === state) return;
    outcomes.dataset.of = state;
    outcomes.replaceChildren(h("h2", {}, `Foretold, and what came: ${calibrationText(said)}`), h("table", {}, h("tbody", {}, said.outcomes.slice(0, few).map((o) => h("tr", { data: { verdict: o.verdict } },
      h("th", { scope: "row", class: "text" }, outcomeText(o)), h("td", { class: "text" }, verdictOf(o)))))));
  }

  /** other lists what the program would do if it were built in another way. */
  function other(goal) {
    const list = changesOf(data.profile, goal);
    others.hidden = list.length === 0;
    const state = JSON.stringify([goal, list]);
    if (others.dataset.of === state) return;
    others.dataset.of = state;
    others.replaceChildren(h("h2", {}, `${goal ? goalText(goal) : ""}, built in another way`), h("table", {}, h("tbody", {}, list.map((c) => h("tr", { data: { verdict: c.verdict } },
      h("th", { scope: "row", class: "text" }, `With ${c.text}`), h("td", { class: "number" }, numberText(c)),
      h("td", { class: "text" }, h("span", { class: "why-text" }, `${signs[c.verdict]} ${briefly(c.verdict)}`)))))));
  }

  /** explain leads to why a region is slow. */
  function explain(best, goal) {
    const region = best?.region;
    next.hidden = !region;
    confirm.hidden = price.hidden = isSaved() || !best || best.answer.mode !== "replay" || best.answer.confirmed;
    if (!confirm.hidden) setText(price, priceText(data.plan?.status.enabled));
    confirm.href = goal ? `#/causal?${new URLSearchParams({ p: goal.progress, m: goal.metric, plan: "1" })}` : "#/causal";
    const of = JSON.stringify([best?.key, goal?.progress]);
    if (!region || next.dataset.of === of) return;
    next.dataset.of = of;
    const name = encodeURIComponent(region.name);
    next.replaceChildren("Why is it slow? See its ", h("a", { href: `#/regions?q=${name}&scope=${encodeURIComponent(region.scope)}` }, "durations and waits"), ", the ",
      h("a", { href: `#/sessions?name=${name}&whole=1` }, "slowest requests"), " with it",
      ...(goal ? [", ", h("a", { href: `#/regions?q=${encodeURIComponent(goal.progress)}` }, `why the slowest ${goal.progress} are slow`)] : []),
      ...(hasStacks() ? [", or its ", h("a", { href: `#/stacks/${name}?scope=${encodeURIComponent(region.scope)}` }, "call stacks")] : []), ". ", confirm, price);
  }

  /** advise says what to do where there is no number. */
  function advise(some) {
    const { plan, root } = data;
    const start = plan && planCommand({ questions: [], progress: root, metric: "throughput", plan, base: new URL(".", location.href).href });
    swap(advice, ...(some ? [] : [plan ? reasonBox(data, start, "Why, and what to do") : noController()]));
  }

  return {
    title: "Overview",
    el,
    async load(signal) {
      const [{ regions }, profile, plan, said] = await Promise.all([
        request("regions", { signal }),
        context.hasCausal ? request("causal/profile", { signal }).catch(unlessRefused(noProfile)) : noProfile,
        context.hasCausal ? request("causal/plan", { signal }).catch(unlessRefused(null)) : null,
        context.hasCausal ? request("causal/outcomes", { signal }).catch(unlessRefused(nothingSaid)) : nothingSaid,
      ]);
      return { regions, profile, plan, said, root: busiest(regions) };
    },
    render(latest) {
      data = latest;
      draw();
    },
  };
}

/** overviewRow is one region: how hot it is, and how much it matters. */
function overviewRow({ row: first }) {
  const { name, scope } = first.region;
  const region = `#/regions?q=${encodeURIComponent(name)}&scope=${encodeURIComponent(scope)}`;
  const label = h("span", { class: "name-text" });
  const time = h("span", { class: "meter-fill" });
  const share = h("span", { class: "figure-text" });
  const zero = h("span", { class: "effect-zero" });
  const bar = h("span", { class: "effect-bar" });
  const whisker = h("span", { class: "effect-whisker" });
  const track = h("span", { class: "effect-track", "aria-hidden": "true" }, bar, zero, whisker);
  const effect = h("span", { class: "figure-text" });
  const why = h("span", { class: "why-text" });
  const mode = h("span");
  const disagrees = h("span", { class: "badge warn" }, "≠ modes disagree");
  const [p99, p50, cpu, part] = [0, 1, 2, 3].map(() => h("span"));
  const tension = h("span", { class: "badge warn" });
  const cell = (kind, figure, below) => h("td", { class: `number ${kind}` }, figure, h("span", { class: "below" }, below));
  const causal = h("a", { "aria-label": `Causal: ${name}` }, "Causal");
  const stacks = h("a", { "aria-label": `Stacks: ${name}`, href: `#/stacks/${encodeURIComponent(name)}?scope=${encodeURIComponent(scope)}` }, "Stacks");
  const el = h("tbody", {}, h("tr", {},
    h("th", { scope: "row", class: "text region" }, h("a", { class: "row-name", href: region, "data-row": true }, label)),
    h("td", { class: "time" }, h("span", { class: "gauge" }, h("span", { class: "meter", "aria-hidden": "true" }, time), share), h("span", { class: "below" }, tension)),
    h("td", { class: "effect" }, h("span", { class: "gauge" }, track, effect), h("span", { class: "why-line" }, why, mode, disagrees)),
    cell("p99", p99, p50), cell("cpu", cpu, part),
    h("td", { class: "text see" }, causal, hasStacks() && stacks)));
  let shown = "";
  return {
    el,
    update(latest) {
      const state = JSON.stringify(latest);
      if (state === shown) return;
      shown = state;
      const { row, axis } = latest;
      const p = row.point;
      setAttr(el, "data-verdict", row.verdict);
      setText(label, row.label);
      label.title = row.region.scope ? `scope ${row.region.scope} ${row.region.scope_version ?? ""}` : "";
      time.style.setProperty("width", `${Math.min(100, (100 * row.region.self_share) / axis.most)}%`);
      setAttr(time, "data-cut", row.region.self_share > axis.most || null);
      setText(share, percent(row.region.self_share));
      setText(p99, known(row.region, row.region.p99_ns));
      setText(p50, `p50 ${known(row.region, row.region.p50_ns)}`);
      setText(cpu, onCPU(row.region.pmu)[1] || "–");
      const onIt = cpuPart(row.region);
      setText(part, onIt === null ? "" : `${percent(onIt)} of a span`);
      setText(tension, row.tension ? `≠ ${row.tension}` : "");
      tension.hidden = !row.tension;
      causal.hidden = !axis.causal;
      causal.href = axis.goal ? `#/causal?${new URLSearchParams({ p: axis.goal.progress, m: axis.goal.metric })}` : "#/causal";
      track.hidden = !p;
      setText(effect, p ? numberText(p) : "–");
      setText(why, p ? `${signs[row.verdict]} ${row.why}` : row.why);
      setText(mode, p ? ` · ${axis.mixed ? `${percent(p.speedup)} faster, ` : ""}${[`by ${p.confirmed ? "recordings, confirmed by experiment" : ways[row.answer.mode]}`, ...row.others.map(([m, o]) => `${ways[m]}: ${(o.loose ? interval(o) : change(o.change)).replace(" ", "\u00a0")}`)].join("; ")}` : "");
      disagrees.hidden = !row.question?.disagree;
      if (row.question) disagrees.title = disagreement(row.question);
      if (p) place(p, axis.range);
    },
  };

  /** place draws a number with its interval; what is beyond the axis ends at its edge. */
  function place(p, { lo, hi }) {
    const x = linear(lo, hi, 0, 100);
    const at = (v) => Math.min(Math.max(x(v ?? hi), 0), 100);
    const between = (part, a, b) => {
      part.style.setProperty("left", `${a}%`);
      part.style.setProperty("width", `${b - a}%`);
    };
    zero.style.setProperty("left", `${at(0)}%`);
    const tip = at(p.loose ? 0 : p.change); // bounds have no number between them
    between(bar, Math.min(at(0), tip), Math.max(at(0), tip));
    between(whisker, at(p.lo), at(p.hi));
    setAttr(whisker, "data-cut", [p.lo < lo && "left", (p.hi === null || p.hi > hi) && "right"].filter(Boolean).join(" ") || null);
  }
}

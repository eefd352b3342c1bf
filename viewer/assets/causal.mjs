// The view of the causal profile: what would happen if a region were faster.

import { isFile, request } from "./api.mjs";
import { command, figure, ranking, rankingRow } from "./causalparts.mjs";
import { metricName, planCommand, planDraft, unseenText, whyEmpty } from "./causalwords.mjs";
import { columnsOf, isThroughput, modes, plainName, questionsOf } from "./curves.mjs";
import { button, empty, h, isSaved, keyed, setAttr, setText, swap } from "./dom.mjs";
import { marker } from "./plot.mjs";
import { experimentsBox } from "./experiments.mjs";
import { plural } from "./format.mjs";
import { busiest } from "./overviewrows.mjs";
import { statusBar } from "./plan.mjs";

const few = 8; // rows and pictures that are shown at first
const optIn = "export OTELPROF_EXPERIMENTS=on OTELPROF_PLAN_FILE=plan.yaml";
const switchOn = "export OTELPROF_REPLAY=on";

export function causalView(context) {
  const el = h("section", { class: "causal", "aria-label": "Causal profile" }, h("h1", { class: "visually-hidden" }, "Causal profile"));
  if (!context.hasCausal) {
    el.append(noController());
    return { title: "Causal", el, load: (signal) => request("regions", { signal }), render() {} };
  }
  const status = statusBar(context);
  const experiments = experimentsBox(context);
  const nothing = h("div");
  const progress = choice("Progress point", "p", "every progress point");
  const metric = choice("Metric", "m", "every metric");
  const ofFleet = () => document.body.dataset.fleet === "true" && context.query.get("of") === "fleet";
  const whole = h("input", { type: "checkbox", onchange: () => { context.remember({ of: whole.checked ? "fleet" : "" }); context.refresh(); } });
  const fleet = h("p", { class: "toolbar", hidden: document.body.dataset.fleet !== "true" },
    h("label", {}, whole, " All instances of all services, by their metrics in Prometheus"));
  whole.checked = ofFleet();
  const missed = h("p", { class: "flame-notice", role: "status", hidden: true });
  const shownText = h("span", { class: "muted" });
  const rows = h("div", { class: "scroll", tabindex: "0" });
  const more = button("", { class: "quiet", onclick: () => { context.remember({ all: !asksAll() }); draw(); } });
  const unseen = {}; // by mode, what it does not see
  const explain = h("ul", { class: "mode-list" }, Object.entries(modes).map(([mode, how]) => {
    unseen[mode] = h("span", { class: "unseen" });
    return h("li", {}, marker(mode), h("strong", {}, mode), ` ${how}`, unseen[mode]);
  }));
  const figures = h("div", { class: "figures" });
  const curves = h("section", { "aria-label": "Curves" }, h("h2", { class: "curves-title" }, "Curves"), figures);
  const experiment = h("details", { class: "experiment" });
  const notes = h("div");
  const links = Object.entries({ svg: "format=svg", coz: "format=coz", json: "samples=1" }).map(([form, query]) => [query, h("a", { download: `profile.${form}` }, form)]);
  const downloads = h("p", { class: "note", hidden: isFile() }, "Download: ",
    links.map(([, a]) => [a, " "]), "with the samples, for ", h("code", {}, "otelprof report"));
  const content = h("div", { hidden: true }, h("div", { class: "toolbar" }, progress.el, metric.el, shownText), rows,
    h("p", { class: "note" }, more, " Changes are predicted, with intervals of 95 %. For throughput more is better, for latency less. "
      + "A verdict goes by the whole curve: all speed-ups that have a number together."), explain, experiment);
  const below = h("div", { hidden: true }, curves, notes, downloads);
  el.append(status.el, fleet, missed, nothing, content, experiments.el, below);

  const observer = new ResizeObserver(() => drawFigures());
  observer.observe(figures);
  let data = null;
  let drawn = "";

  function choice(name, key, all) {
    const select = h("select", { onchange: () => { context.remember({ [key]: select.value }); draw(); } });
    let listed = "";
    return {
      el: h("label", {}, `${name} `, select),
      // offer returns what is chosen, "" for all.
      offer(values, first, text) {
        const wanted = context.query.get(key) ?? first;
        const chosen = values.includes(wanted) ? wanted : wanted === "*" ? "*" : first;
        const now = JSON.stringify(values);
        if (now !== listed) {
          listed = now;
          select.replaceChildren(...values.map((v) => h("option", { value: v }, text(v))), h("option", { value: "*" }, all));
        }
        if (select.value !== chosen) select.value = chosen;
        return chosen === "*" ? "" : chosen;
      },
    };
  }

  /** loadProfile asks Prometheus where that is wanted, and this instance where it is not or fails. */
  async function loadProfile(signal) {
    let why = "";
    if (ofFleet()) {
      try {
        return { profile: await request("causal/profile?of=fleet", { signal }), why, of: "&of=fleet" };
      } catch (err) {
        if (signal?.aborted) throw err;
        why = `No answer from Prometheus, so this instance alone is shown: ${err.message}`;
      }
    }
    return { profile: await request("causal/profile", { signal }), why, of: "" };
  }

  const asksAll = () => context.query.get("all") === "1";
  const parts = () => [...(figures.keyedParts ?? new Map()).values()];
  const drawFigures = () => parts().forEach((p) => p.draw());

  function draw() {
    const { profile, plan } = data;
    const all = questionsOf(profile);
    const some = all.some((q) => q.answer.verdict !== "withheld");
    const unique = (values) => [...new Set(values)].sort();
    const points = unique(all.map((q) => q.progress));
    const planned = plan.plan?.progress?.map((p) => plainName(p.span)).find((p) => points.includes(p));
    const busy = profile.recorded?.progress?.map((p) => p.progress).find((p) => points.includes(p));
    const atPoint = progress.offer(points, planned ?? busy ?? all[0]?.progress ?? "*", (v) => v);
    const here = all.filter((q) => !atPoint || q.progress === atPoint);
    const metrics = unique(here.map((q) => q.metric)).sort((a, b) => isThroughput(b) - isThroughput(a));
    const ofMetric = metric.offer(metrics, metrics[0] ?? "*", metricName);
    const chosen = here.filter((q) => !ofMetric || q.metric === ofMetric);
    const shown = asksAll() ? chosen : chosen.slice(0, few);

    setText(shownText, shown.length < chosen.length ? `${shown.length} of ${plural(chosen.length, "row")}` : plural(chosen.length, "row"));
    more.hidden = chosen.length <= few;
    setText(more, asksAll() ? `Show the first ${few}` : `Show all ${chosen.length}`);
    drawRanking(shown);
    const pictures = shown.filter((q) => q.answer.verdict !== "withheld");
    curves.hidden = pictures.length === 0;
    keyed(figures, pictures, (q) => q.key, figure);
    drawFigures();

    const question = { questions: chosen, progress: atPoint || all[0]?.progress || data.root, metric: ofMetric };
    status.editor.offer(() => planDraft({ ...question, service: document.body.dataset.service }), { enabled: plan.status.enabled, replaceable: plan.replaceable });
    const start = planCommand({ ...question, plan, base: new URL(".", location.href).href });
    swap(nothing, ...(some ? [] : [reasonBox(data, start)]));
    content.hidden = below.hidden = all.length === 0;
    for (const mode of Object.keys(modes)) {
      unseen[mode].parentElement.hidden = !profile.curves.some((c) => c.mode === mode);
      setText(unseen[mode], unseenText(profile, mode));
    }
    experiment.hidden = !some || isSaved() || ["running", "waiting"].includes(plan.status.state);
    swap(experiment, h("summary", {}, "Confirm by an experiment"),
      ...(plan.status.enabled ? [] : [h("p", {}, "Experiments are off. Switch them on and start the program again:"), command(optIn)]),
      ...(plan.replaceable ? [h("p", {}, button("Write a plan for it", { onclick: () => status.editor.edit() }))]
        : [h("p", {}, "This replaces the plan in the file that the program looks at every two seconds. It delays the program within its limits:"), command(start)]));
    if (context.query.get("plan") === "1") confirm(plan.status.enabled);
    notes.replaceChildren(...(some && profile.notes?.length ? [h("h3", {}, "Notes"), h("ul", {}, profile.notes.map((n) => h("li", {}, n)))] : []));
  }

  /** confirm opens what leads to an experiment, once, for who comes from the overview. */
  function confirm(enabled) {
    context.remember({ plan: "" });
    if (enabled) return status.editor.edit();
    experiment.open = true;
    experiment.scrollIntoView({ block: "start" });
  }

  function drawRanking(shown) {
    const columns = columnsOf(shown);
    if (rows.dataset.columns !== String(columns)) { // another table
      rows.dataset.columns = String(columns);
      rows.replaceChildren(ranking(columns));
    }
    const show = (q) => {
      const part = figures.keyedParts.get(q.key);
      part.el.scrollIntoView({ block: "start" });
      part.el.focus({ preventScroll: true });
    };
    const state = data.plan.status.state;
    setAttr(rows.firstElementChild, "data-single", new Set(shown.map((q) => `${q.metric} ${q.progress}`)).size < 2 || null);
    keyed(rows.firstElementChild, shown.map((q) => ({ ...q, state })), (q) => q.key, rankingRow(columns, show), 2); // behind the caption and the head
  }

  return {
    title: "Causal",
    el,
    close() {
      observer.disconnect();
      experiments.close();
    },
    async load(signal) {
      const [shown, plan, timeline] = await Promise.all([loadProfile(signal), request("causal/plan", { signal }), request("causal/experiments", { signal })]);
      // Without a question there is no progress point to name in a plan but the busiest request.
      const regions = shown.profile.curves.length ? [] : (await request("regions", { signal })).regions;
      return { ...shown, plan, timeline, root: busiest(regions) };
    },
    render(latest) {
      data = latest;
      for (const [query, a] of links) setAttr(a, "href", `api/v1/causal/profile?${query}${data.of}`);
      setText(missed, data.why);
      missed.hidden = !data.why;
      status.render(data.plan, data.profile);
      experiments.render(data.timeline, data.plan.status);
      const { curves, notes: said } = data.profile;
      const { spent_ns: _spent, experiment: _now, duty: _duty, breaker: _breaker, ...state } = data.plan.status;
      const now = JSON.stringify([curves, said, data.profile.waiting, data.profile.plan_id, state, data.root, Math.floor(Date.now() / 600e3)]); // what is printed expires in half an hour
      if (now === drawn) return;
      drawn = now;
      draw();
    },
  };
}

/** noController says why nothing but the share of time is known, and what to do. */
export function noController() {
  return isSaved() ? empty("There is no causal profile in these files",
    "So only the share of time is known, and not what would help. A program that runs gives its profile away:",
    command("curl -o profile.json ADDRESS/api/v1/causal/profile\notelprof view FILE… profile.json")) : empty("There is no causal controller",
    "This process was started without one, so only the share of time is known, and not what would help. otelprof.Setup makes one:",
    command("prof, err := otelprof.Setup(ctx)"));
}

/** reasonBox says why there is no number, and what to do: first what delays nothing. */
export function reasonBox({ profile, plan }, start, title = isSaved() ? "There is no number" : "There is no number yet") {
  const recording = isSaved() ? undefined : plan.status.recording; // of saved data there will be no more
  const runs = ["running", "waiting"].includes(plan.status.state);
  const byExperiment = [!plan.status.enabled && [h("p", {}, "Switch experiments on, and start the program again:"), command(optIn)],
    !runs && [h("p", {}, plan.replaceable ? "Start one:" : "Start one, by the plan file that the program looks at every two seconds:"), command(start)]].filter(Boolean);
  return empty(title, ...whyEmpty({ ...plan.status, recording, plan: plan.plan }, profile),
    recording?.on === false && [h("p", {}, "Switch recordings on, and start the program again:"), command(switchOn)],
    byExperiment.length > 0 && h("details", {}, h("summary", {}, "By an experiment, which delays the program within limits"), byExperiment));
}

// The view of the causal profile: what would happen if a part were faster.

import { request } from "./api.mjs";
import { bets, measured, plotsOf, whyEmpty } from "./curves.mjs";
import { empty, h, setText } from "./dom.mjs";
import { change, count, duration, percent, plural } from "./format.mjs";
import { statusBar } from "./plan.mjs";
import { drawnCurves, marker, plot } from "./plot.mjs";

const samplePlan = () => `api: causal/v1
id: first-look
expires_at: ${new Date(Date.now() + 30 * 60e3).toISOString().slice(0, 19)}Z   # at most one hour ahead
mode: dilation
regions:
  - span: "*"
progress:
  - {span: "POST /checkout", type: throughput}   # the span that is a unit of work
`;

export function causalView(context) {
  const el = h("section", { class: "causal", "aria-label": "Causal profile" }, h("h1", { class: "visually-hidden" }, "Causal profile"));
  if (!context.hasCausal) {
    el.append(empty("No causal controller",
      "This process was started without one, so nothing can be said about what a speed-up would bring.",
      h("p", {}, "Give the viewer a ", h("code", {}, "causal.Controller"), " in its Sources, or use otelprof.Setup.")));
    return { title: "Causal", el, load: (signal) => request("regions", { signal }), render() {} };
  }
  const status = statusBar(context);
  const results = h("div", { class: "results" });
  const intro = h("p", { class: "lead" });
  const doubts = h("div");
  const downloads = h("p", { class: "note" }, "Download: ",
    h("a", { href: "api/v1/causal/profile?format=svg", download: "profile.svg" }, "SVG"), " ",
    h("a", { href: "api/v1/causal/profile?format=coz", download: "profile.coz" }, "coz"), " ",
    h("a", { href: "api/v1/causal/profile", download: "profile.json" }, "JSON"));
  el.append(status.el, intro, results, doubts, downloads);

  let drawn = "";
  let plots = [];
  const observer = new ResizeObserver(() => drawPlots());
  observer.observe(results);

  function drawPlots() {
    for (const p of plots) {
      const width = Math.floor(p.holder.clientWidth);
      if (width > 0 && width !== p.width) {
        p.width = width;
        p.holder.replaceChildren(plot(p.data, p.drawn, width));
      }
    }
  }

  return {
    title: "Causal",
    el,
    close: () => observer.disconnect(),
    async load(signal) {
      const [profile, plan] = await Promise.all([request("causal/profile", { signal }), request("causal/plan", { signal })]);
      return { profile, plan };
    },
    render({ profile, plan }) {
      status.render(plan, profile);
      const why = whyEmpty({ ...plan.status, plan: plan.plan }, profile);
      const now = JSON.stringify([profile.curves, profile.notes, why]);
      if (now === drawn) return;
      drawn = now;
      const numbers = profile.curves.some((c) => measured({ points: c.effects ?? [] }).length > 0);
      setText(intro, numbers ? "What each progress point would gain if one region alone took less time. To find out, all the other regions are slowed down for some seconds at a time, and the difference is measured." : "");
      intro.hidden = downloads.hidden = !numbers;
      plots = plotsOf(profile).map(section);
      results.replaceChildren(
        ...(numbers ? [] : [empty("There is no number yet", ...why, h("details", {}, h("summary", {}, "A plan to begin with"), h("pre", {}, samplePlan())))]),
        ...plots.map((p) => p.el));
      doubts.replaceChildren(...(numbers && profile.notes?.length ? [h("h3", {}, "Notes"), h("ul", {}, profile.notes.map((n) => h("li", {}, n)))] : []));
      drawPlots();
    },
  };
}

/** section makes one progress point: the ranking, the place of the picture, the table. */
function section(data) {
  const ranked = bets(data);
  const drawn = ranked.slice(0, drawnCurves).map((b, index) => ({ curve: b.curve, index }));
  const indexOf = new Map(drawn.map((d) => [d.curve, d.index]));
  const holder = h("div", { class: "plot-holder" });
  const el = h("article", { class: "progress" },
    h("h2", {}, data.progress, data.basePeriodNs > 0 && h("span", { class: "muted base" },
      `${rate(data.basePeriodNs)}, one every ${duration(data.basePeriodNs)} with nothing inserted`)),
    ranked.length > 0 && ranking(data, ranked, indexOf),
    drawn.length > 0 && holder,
    ranked.length > drawn.length && h("p", { class: "muted" }, `${drawn.length} of ${plural(ranked.length, "region")} are drawn; all are in the table.`),
    table(data, ranked, indexOf));
  return { el, holder, data, drawn, width: 0 };
}

const signs = { helps: ["▲", "helps"], unclear: ["≈", "no certain effect"], harms: ["▼", "harms"] };

function ranking(data, ranked, indexOf) {
  return h("ol", { class: "bets" }, ranked.slice(0, drawnCurves).map((b) => {
    const [sign, word] = signs[b.verdict];
    return h("li", { data: { verdict: b.verdict } },
      indexOf.has(b.curve) && marker(indexOf.get(b.curve)),
      h("span", { class: "bet-name" }, b.curve.label), h("span", { class: "bet-if muted" }, `${percent(b.point.speedup)} faster`),
      h("strong", { class: "bet-gain" }, change(b.point.gain)),
      h("span", { class: "muted bet-range" }, `${change(b.point.lo)} … ${change(b.point.hi)}`),
      h("span", { class: "bet-verdict" }, `${sign} ${word}`));
  }));
}

function table(data, ranked, indexOf) {
  const rank = new Map(ranked.map((b, i) => [b.curve, i]));
  const curves = [...data.curves].sort((a, b) => (rank.get(a) ?? Infinity) - (rank.get(b) ?? Infinity) || 0);
  return h("div", { class: "scroll" }, h("table", { class: "effects" },
    h("caption", { class: "visually-hidden" }, `Predicted change of ${data.progress}`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "Region"),
      ["Speed-up", "Throughput", "95 % interval", "n", "Outliers"].map((t) => h("th", { scope: "col", class: "number" }, t)),
      h("th", { scope: "col", class: "text" }, "Notes"))),
    curves.map((curve) => h("tbody", {}, curve.points.map((p, i) => effectRow(curve, p, i, indexOf))))));
}

function effectRow(curve, p, i, indexOf) {
  const name = h("th", { scope: "rowgroup", rowspan: curve.points.length, class: "text region" },
    indexOf.has(curve) && marker(indexOf.get(curve)), h("span", { title: curve.scope ? `scope ${curve.scope}` : null }, curve.label));
  const number = (text) => h("td", { class: "number" }, text);
  return h("tr", { data: p.withheld ? { withheld: "" } : {} }, i === 0 && name,
    number(percent(p.speedup)),
    number(p.withheld ? "–" : change(p.gain)),
    number(p.withheld ? "–" : `${change(p.lo)} … ${change(p.hi)}`),
    number(p.withheld && !p.samples ? "–" : count(p.samples)),
    number(p.withheld && !p.outliers ? "–" : count(p.outliers)),
    h("td", { class: "text notes" }, p.withheld && h("span", { class: "withheld" }, `Withheld: ${p.withheld}`), p.warnings.join("; ")));
}

/** rate writes a period as a frequency. */
function rate(periodNs) {
  const perSecond = 1e9 / periodNs;
  return perSecond >= 1 ? `${+perSecond.toPrecision(3)} per second` : `${+(60 * perSecond).toPrecision(3)} per minute`;
}

// The view of all goroutines of one moment, merged by what they wait for: the first thing to look at in a hang.

import { ApiError, isFile, request } from "./api.mjs";
import { button, empty, h, numberCells, setText, swap, tableHead } from "./dom.mjs";
import { build } from "./flame.mjs";
import { flameGraph } from "./flamegraph.mjs";
import { clock, count, percent, plural } from "./format.mjs";
import { merged, reasonName } from "./goroutinetree.mjs";

export function goroutinesView(context) {
  const { query } = context;
  let dump = null; // the picture stands still until another look is asked for
  const flame = flameGraph({
    label: "All goroutines, by what they wait for", of: "of the goroutines", wanted: query.get("q") ?? "",
    describe: (node, share) => `${plural(node.samples, "goroutine")}, ${share(node.cpu)}`,
    searched: (text) => context.remember({ q: text }),
    drawn: (hidden) => setText(thin, hidden > 0 ? `${plural(hidden, "call")} too thin to draw: zoom in. ` : ""),
  });
  const again = button("Look again", { onclick: () => { dump = null; context.refresh(); } });
  const lead = h("p", { class: "flame-regions" });
  const reasons = h("tbody");
  const thin = h("span");
  const table = h("table", { class: "reasons" }, h("caption", { class: "visually-hidden" }, "What goroutines wait for, those of most first"),
    tableHead(["Wait reason"], ["Goroutines", "Share"]), reasons);
  const content = h("div", { hidden: true }, h("div", { class: "toolbar" }, flame.search, !isFile() && again, flame.out, flame.found), lead,
    h("div", { class: "scroll", tabindex: "0" }, table), flame.graph, flame.facts,
    h("p", { class: "note" }, thin, "The outermost calls are on top, and a box is as wide as the number of goroutines in it. The reason is inferred from "
      + "the calls; the program runs on meanwhile. ", !isFile() && h("a", { href: "api/v1/goroutines" }, "As text")));
  const gone = empty("No goroutines here", "This is saved data. A program that runs shows where its goroutines are.");
  gone.hidden = true;
  const el = h("section", { "aria-label": "All goroutines" }, h("h1", { class: "flame-title" }, "All goroutines", h("span", { class: "muted" }, " by what they wait for")),
    content, gone, document.body.dataset.stacks === "true" && h("p", { class: "note" }, "What uses the processors is in the ", h("a", { href: "#/stacks" }, "CPU call stacks"), "."));

  function row(g, key) {
    return h("tr", {},
      h("th", { scope: "row", class: "text" }, button(g.reason, { class: "row-name", "data-row": true, title: "Zoom in", onclick: () => flame.zoomTo(key) })),
      numberCells([count(g.count), percent(g.count / dump.count)]));
  }

  return {
    title: "All goroutines",
    el,
    once: true,
    load: async (signal) => dump ?? request("goroutines?format=json", { signal }),
    render(data) {
      if (data === dump) return;
      dump = data;
      content.hidden = false;
      gone.hidden = true;
      const tree = merged(dump);
      const keys = new Map(build(tree).root.children.map((n) => [n.func, n.key]));
      setText(lead, `${plural(dump.count, "goroutine")} at ${clock(dump.at)}.`);
      swap(reasons, ...dump.groups.map((g) => row(g, keys.get(reasonName(g.reason)))));
      flame.zoomTo("");
      flame.show(tree);
    },
    refused(err) {
      const saved = err instanceof ApiError && err.status === 404;
      if (saved) {
        gone.hidden = false;
        content.hidden = true;
      }
      return saved;
    },
    key: (event) => flame.key(event),
    back() { flame.back(); },
  };
}

// The view of merged call stacks: a flame graph of the process, or of the regions of a name.

import { ApiError, isFile, request } from "./api.mjs";
import { button, empty, h, isSaved, swap, setText } from "./dom.mjs";
import { flameGraph } from "./flamegraph.mjs";
import { clock, count, duration, plural } from "./format.mjs";
import { highRate } from "./highrate.mjs";

export function stacksView(context) {
  const { id: region, query } = context; // undefined for the process; a region may have the name ""
  const whole = region === undefined;
  // fine: the samples at a high rate that were taken last, in place of the usual ones.
  const state = { wanted: query.get("q") ?? "", seconds: query.get("seconds") ?? "", lines: query.get("lines") === "1", fine: whole && query.get("fine") === "1", data: null };

  const flame = flameGraph({
    label: "Flame graph", of: "of the time", wanted: state.wanted,
    describe: (node, share) => `${share(node.cpu)}, ${duration(node.cpu)}, ${plural(node.samples, "sample")}; self ${share(node.self)}`,
    searched: (text) => { state.wanted = text; remember(); },
    drawn: drawSummary,
  });
  const seconds = h("select", { onchange: () => { state.seconds = seconds.value; ask(); } },
    [["30", "30 s"], ["120", "2 min"], ["", "All that is kept"]].map(([value, text]) => h("option", { value }, text)));
  seconds.value = ["30", "120"].includes(state.seconds) ? state.seconds : "";
  const last = !isSaved() && h("label", {}, "Last ", seconds);
  const lines = h("input", { type: "checkbox", onchange: () => { state.lines = lines.checked; flame.zoomTo(""); ask(); } });
  lines.checked = state.lines;
  const rate = !isSaved() && whole && highRate(() => showFine(true));
  const live = button("Back to 100 samples a second", { onclick: () => showFine(false) });
  const summary = h("p", { class: "note" });
  const notice = h("p", { class: "flame-notice", role: "status", hidden: true });
  const links = h("p", { class: "note", hidden: isFile() });
  const regions = h("p", { class: "note flame-regions" });
  const none = empty("No samples yet",
    "Samples count processor time: a process that waits has none. Let it work for some seconds.");
  const off = empty("No call stacks here", "This process takes no samples of its call stacks, or the region is not known.",
    h("p", {}, "Start the program with ", h("code", {}, "OTELPROF_STACKS=on"), ", or without otelprof.Setup use ", h("code", {}, "stacks.NewProfiler()"), "."));
  const content = h("div", {}, h("div", { class: "toolbar" }, flame.search, last, !isFile() && h("label", {}, lines, " Lines"), rate && [rate.el, live], flame.out, flame.found),
    rate && rate.said, regions, notice, flame.graph, flame.facts, summary, links);
  const el = h("section", { "aria-label": "Call stacks" },
    h("h1", { class: "flame-title" }, whole ? "Process" : region || "\"\"", h("span", { class: "muted" }, " CPU call stacks")), content, none, off,
    document.body.dataset.goroutines === "true" && h("p", { class: "note" }, "Does it hang? ", h("a", { href: "#/goroutines" }, `Where all goroutines ${isFile() ? "were" : "are now"}`), ", by what they wait for."));
  content.hidden = none.hidden = off.hidden = true;

  function path() {
    if (state.fine) return "stacks/highrate";
    return whole ? "stacks" : "regions/stacks";
  }

  function parameters(format) {
    const p = new URLSearchParams();
    if (!whole) p.set("name", region);
    if (query.has("scope")) p.set("scope", query.get("scope"));
    if (state.seconds && !state.fine) p.set("seconds", state.seconds);
    if (state.lines) p.set("lines", "1");
    if (format) p.set("format", format);
    return p;
  }

  function remember() { context.remember({ q: state.wanted, seconds: state.seconds, lines: state.lines, fine: state.fine }); }

  function ask() {
    remember();
    context.refresh();
  }

  function showFine(fine) {
    state.fine = fine;
    flame.zoomTo("");
    ask();
  }

  function drawSummary(hidden) {
    const { data } = state;
    const { tree } = data;
    setText(summary, [
      `${plural(tree.samples, "sample")}, ${duration(tree.cpu_ns)} of processor time in ${duration(data.duration_ns)} at ${count(data.hz)} Hz.`,
      hidden > 0 && `${plural(hidden, "call")} too thin to draw.`,
      tree.folded > 0 && `${plural(tree.folded, "stack")} cut short: the tree was full.`,
      data.lost > 0 && `${plural(data.lost, "sample")} lost.`,
    ].filter(Boolean).join(" "));
  }

  function drawRegions() {
    const { data } = state;
    const list = !whole ? data.regions : data.regions.filter((r) => r.number > 0).slice(0, 12);
    const text = (r) => `${r.scope && !whole ? `${r.scope}: ` : ""}${plural(r.samples, "sample")}`;
    swap(regions, ...(!whole
      ? [data.regions.length > 1 && `Merged from ${count(data.regions.length)} scopes: ${list.map(text).join(", ")}. `, h("a", { href: "#/stacks" }, "Whole process")]
      : list.length > 0 ? ["Regions: ", ...list.flatMap((r, i) => [i > 0 ? " · " : "", h("a", { href: `#/stacks/${encodeURIComponent(r.name)}?scope=${encodeURIComponent(r.scope)}` }, r.name), ` (${text(r)})`])]
        : [state.fine ? `Taken at ${clock(data.start)}. At this rate the kernel samples, which knows threads and not goroutines: there are no regions.` : "No sample is in a region yet."]).filter(Boolean));
  }

  function drawNotice() {
    const { status, tree } = state.data;
    const waits = !state.fine && { busy: `Waiting for the CPU profile: ${status.reason}`, paused: "Sampling is paused.", closed: !isSaved() && "Sampling has ended." }[status.state];
    const few = tree.too_few && `Too few samples: ${count(tree.samples)}. Below ${count(tree.min_samples)} the widths mean little.`;
    setText(notice, [waits, tree.samples > 0 && few].filter(Boolean).join(" "));
    notice.hidden = notice.textContent === "";
  }

  return {
    title: whole ? "Call stacks" : `${region || "\"\""}: call stacks`,
    el,
    close() { rate && rate.close(); },
    load: (signal) => request(`${path()}?${parameters()}`, { signal }),
    render(data) {
      state.data = data;
      off.hidden = true;
      none.hidden = data.tree.samples > 0;
      content.hidden = false;
      if (last) last.hidden = state.fine;
      live.hidden = !state.fine;
      swap(links, "Download: ", ...["pprof", "speedscope", "folded", "svg"].flatMap((f, i) => [i > 0 ? " · " : "",
        h("a", { href: `api/v1/${path()}?${parameters(f)}`, download: `stacks.${f}` }, f)]));
      drawNotice();
      drawRegions();
      flame.show(data.tree);
    },
    refused(err) {
      const gone = err instanceof ApiError && err.status === 404;
      if (gone && state.fine) { // the process is another one by now
        showFine(false);
      } else if (gone) {
        off.hidden = false;
        content.hidden = none.hidden = true;
      }
      return gone;
    },
    key: (event) => flame.key(event),
    back() {
      if (!flame.back() && !whole) history.back();
    },
  };
}

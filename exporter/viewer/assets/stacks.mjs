// The view of merged call stacks: a flame graph of the process, or of the regions of a name.

import { ApiError, request } from "./api.mjs";
import { button, empty, h, isSaved, keyed, setAttr, setText, swap } from "./dom.mjs";
import { build, hueOf, layout, matched, matches, neighbor, shortName } from "./flame.mjs";
import { count, duration, percent, plural } from "./format.mjs";

const rowHeight = 20;

export function stacksView(context) {
  const { id: region, query } = context;
  const state = { zoom: "", wanted: query.get("q") ?? "", seconds: query.get("seconds") ?? "", lines: query.get("lines") === "1", flame: null, data: null };

  const search = h("input", {
    type: "search", placeholder: "Search functions", "aria-label": "Search functions", "data-filter": true, value: state.wanted,
    oninput: () => { state.wanted = search.value; remember(); draw(); },
  });
  const seconds = h("select", { onchange: () => { state.seconds = seconds.value; ask(); } },
    [["30", "30 s"], ["120", "2 min"], ["", "All that is kept"]].map(([value, text]) => h("option", { value }, text)));
  seconds.value = ["30", "120"].includes(state.seconds) ? state.seconds : "";
  const lines = h("input", { type: "checkbox", onchange: () => { state.lines = lines.checked; state.zoom = ""; ask(); } });
  lines.checked = state.lines;
  const out = button("Zoom out", { class: "quiet", onclick: () => zoomTo("") });
  const found = h("span", { class: "muted", role: "status" });
  const summary = h("p", { class: "note" });
  const notice = h("p", { class: "flame-notice", role: "status", hidden: true });
  const graph = h("div", { class: "flame", role: "tree", "aria-label": "Flame graph" });
  const facts = h("p", { class: "flame-facts", "aria-live": "polite" });
  const links = h("p", { class: "note" }, "Download: ", ["pprof", "speedscope", "folded", "svg"].flatMap((f, i) => [i > 0 ? " · " : "",
    h("a", { href: `api/v1/${path()}?${parameters(f)}`, download: `stacks.${f}` }, f)]));
  const regions = h("p", { class: "note flame-regions" });
  const none = empty("No samples yet",
    "Samples count processor time: a process that waits has none. Let it work for some seconds.");
  const off = empty("No call stacks here", "This process takes no samples of its call stacks, or the region is not known.",
    h("p", {}, "To take some: ", h("code", {}, "stacks.New()"), " and ", h("code", {}, "spans.WithHook(profiler.Hook())")));
  const content = h("div", {}, h("div", { class: "toolbar" }, search, !isSaved() && h("label", {}, "Last ", seconds), h("label", {}, lines, " Lines"), out, found),
    regions, notice, graph, facts, summary, links);
  const el = h("section", { "aria-label": "Call stacks" },
    h("h1", { class: "flame-title" }, region || "Process", h("span", { class: "muted" }, " CPU call stacks")), content, none, off);
  content.hidden = none.hidden = off.hidden = true;

  function path() { return region ? `regions/${encodeURIComponent(region)}/stacks` : "stacks"; }

  function parameters(format) {
    const p = new URLSearchParams();
    if (query.has("scope")) p.set("scope", query.get("scope"));
    if (state.seconds) p.set("seconds", state.seconds);
    if (state.lines) p.set("lines", "1");
    if (format) p.set("format", format);
    return p;
  }

  function remember() { context.remember({ q: state.wanted, seconds: state.seconds, lines: state.lines }); }

  function ask() {
    remember();
    context.refresh();
  }

  function draw(focus) {
    const { flame, data } = state;
    if (!flame) return;
    const { tree } = data;
    const zoom = flame.byKey.get(state.zoom) ?? flame.root;
    const wanted = state.wanted.trim().toLowerCase();
    const { boxes, hidden } = layout(zoom);
    const total = flame.root.cpu || 1;
    const rows = boxes.reduce((most, b) => Math.max(most, b.node.depth + 1), 0);
    graph.style.setProperty("height", `${rows * rowHeight}px`);
    const focused = focus ?? (graph.contains(document.activeElement) ? document.activeElement.dataset.key : null);
    const first = boxes.some((b) => b.node.key === focused) ? focused : boxes[0]?.node.key;
    keyed(graph, boxes, (b) => b.node.key, box);
    for (const b of boxes) {
      const part = graph.keyedParts.get(b.node.key);
      part.mark(wanted, total, b.node === zoom, b.node.key === first);
      if (focus === b.node.key) part.el.focus();
    }
    out.hidden = !zoom.parent;
    setText(found, wanted ? `${percent(matched(flame.root, wanted) / total)} of the time in “${state.wanted.trim()}”` : "");
    setText(summary, [
      `${plural(tree.samples, "sample")}, ${duration(tree.cpu_ns)} of processor time in ${duration(data.duration_ns)} at ${data.status.hz} Hz.`,
      hidden > 0 && `${plural(hidden, "call")} too thin to draw.`,
      tree.folded > 0 && `${plural(tree.folded, "stack")} cut short: the tree was full.`,
      data.lost > 0 && `${plural(data.lost, "sample")} lost.`,
    ].filter(Boolean).join(" "));
  }

  function box(first) {
    let { node } = first;
    const el = h("button", {
      type: "button", class: "flame-box", role: "treeitem", tabindex: "-1", data: { key: node.key },
      onclick: () => zoomTo(node.key), onfocus: tell, onmouseenter: tell,
    });
    function tell() {
      const total = state.flame.root.cpu || 1;
      const place = node.file ? `  ${node.file}${node.line ? `:${node.line}` : ""}` : "";
      setText(facts, `${node.func}${place} — ${percent(node.cpu / total)}, ${duration(node.cpu)}, ${plural(node.samples, "sample")}; self ${percent(node.self / total)}`);
    }
    return {
      el,
      update(b) {
        ({ node } = b);
        el.style.setProperty("left", `${100 * b.left}%`);
        el.style.setProperty("width", `${100 * b.width}%`);
        el.style.setProperty("top", `${node.depth * rowHeight}px`);
        setAttr(el, "aria-level", node.depth + 1);
        setAttr(el, "data-hue", hueOf(node.func));
        setText(el, b.width > 0.02 ? shortName(node.func) : "");
      },
      mark(wanted, total, isZoom, isFirst) {
        setAttr(el, "aria-label", `${node.func}, ${percent(node.cpu / total)}`);
        setAttr(el, "data-dim", wanted && !matches(node, wanted) ? "" : null);
        setAttr(el, "aria-selected", isZoom);
        setAttr(el, "tabindex", isFirst ? 0 : -1);
      },
    };
  }

  function zoomTo(key) {
    state.zoom = key;
    draw(key || undefined);
  }

  function drawRegions() {
    const { data } = state;
    const list = region ? data.regions : data.regions.filter((r) => r.number > 0).slice(0, 12);
    const text = (r) => `${r.scope && region ? `${r.scope}: ` : ""}${plural(r.samples, "sample")}`;
    swap(regions, ...(region
      ? [data.regions.length > 1 && `Merged from ${count(data.regions.length)} scopes: ${list.map(text).join(", ")}. `, h("a", { href: "#/stacks" }, "Whole process")]
      : list.length > 0 ? ["Regions: ", ...list.flatMap((r, i) => [i > 0 ? " · " : "", h("a", { href: `#/stacks/${encodeURIComponent(r.name)}` }, r.name), ` (${text(r)})`])]
        : ["No sample is in a region yet."]).filter(Boolean));
  }

  return {
    title: region ? `${region}: call stacks` : "Call stacks",
    el,
    load: (signal) => request(`${path()}?${parameters()}`, { signal }),
    render(data) {
      state.data = data;
      state.flame = build(data.tree);
      const { status, tree } = data;
      const waits = { busy: `Waiting for the CPU profile: ${status.reason}`, paused: "Sampling is paused.", closed: !isSaved() && "Sampling has ended." }[status.state];
      const few = tree.too_few && `Too few samples: ${count(tree.samples)}. Below ${count(tree.min_samples)} the widths mean little.`;
      setText(notice, [waits, tree.samples > 0 && few].filter(Boolean).join(" "));
      notice.hidden = notice.textContent === "";
      off.hidden = true;
      none.hidden = tree.samples > 0;
      graph.hidden = tree.samples === 0;
      content.hidden = false;
      drawRegions();
      draw();
    },
    refused(err) {
      const gone = err instanceof ApiError && err.status === 404;
      if (gone) {
        off.hidden = false;
        content.hidden = none.hidden = true;
      }
      return gone;
    },
    key(event) {
      const at = state.flame?.byKey.get(graph.contains(document.activeElement) ? document.activeElement.dataset.key : undefined);
      if (!at || !event.key.startsWith("Arrow")) return false;
      const next = neighbor(at, event.key);
      const part = next && graph.keyedParts.get(next.key);
      part?.el.focus();
      return true;
    },
    back() {
      const zoom = state.flame?.byKey.get(state.zoom);
      if (zoom?.parent) zoomTo(zoom.parent.key);
      else if (state.wanted) { search.value = state.wanted = ""; remember(); draw(); } else if (region) history.back();
    },
  };
}

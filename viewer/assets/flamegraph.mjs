// A flame graph: boxes as wide as what they stand for, with search, zoom and the arrow keys.

import { button, h, keyed, setAttr, setText } from "./dom.mjs";
import { build, hueOf, layout, matched, matches, neighbor, shortName } from "./flame.mjs";
import { percent } from "./format.mjs";

const rowHeight = 20;

const byPackage = (el, node) => setAttr(el, "data-hue", hueOf(node.func));

/**
 * flameGraph makes one. label is its name, wanted what is searched for at first, and of what shares are parts of: "of the
 * time". describe(node, share) says more of a call, share(part) being its part of all, and said(node, share) how much it is.
 * paint(el, node) gives a box its color. searched(text) hears of each search, drawn(hidden) how many calls are too thin to draw.
 */
export function flameGraph({ label, wanted = "", of, describe, said = (node, share) => share(node.cpu), paint = byPackage, searched, drawn }) {
  const state = { zoom: "", wanted, flame: null };
  const search = h("input", {
    type: "search", placeholder: "Search functions", "aria-label": "Search functions", "data-filter": true, value: wanted,
    oninput: () => look(search.value),
  });
  const out = button("Zoom out", { class: "quiet", hidden: true, onclick: () => zoomTo("") });
  const found = h("span", { class: "muted", role: "status" });
  const graph = h("div", { class: "flame", role: "tree", "aria-label": label });
  const facts = h("p", { class: "flame-facts", "aria-live": "polite" });
  const share = (part) => percent(part / (state.flame.root.cpu || 1));

  function look(text) {
    state.wanted = text;
    searched?.(text);
    draw();
  }

  function draw(focus) {
    const { flame } = state;
    if (!flame) return;
    const zoom = flame.byKey.get(state.zoom) ?? flame.root;
    const text = state.wanted.trim().toLowerCase();
    const { boxes, hidden } = layout(zoom);
    const rows = boxes.reduce((most, b) => Math.max(most, b.node.depth + 1), 0);
    graph.hidden = boxes.length === 0;
    graph.style.setProperty("height", `${rows * rowHeight}px`);
    const focused = focus ?? (graph.contains(document.activeElement) ? document.activeElement.dataset.key : null);
    const first = boxes.some((b) => b.node.key === focused) ? focused : boxes[0]?.node.key;
    keyed(graph, boxes, (b) => b.node.key, box);
    for (const b of boxes) {
      const part = graph.keyedParts.get(b.node.key);
      part.mark(text, b.node === zoom, b.node.key === first);
      if (focus === b.node.key) part.el.focus();
    }
    out.hidden = !zoom.parent;
    setText(found, text ? `${share(matched(flame.root, text))} ${of} in “${state.wanted.trim()}”` : "");
    drawn?.(hidden);
  }

  function box(first) {
    let { node } = first;
    const el = h("button", {
      type: "button", class: "flame-box", role: "treeitem", tabindex: "-1", data: { key: node.key },
      onclick: () => zoomTo(node.key), onfocus: tell, onmouseenter: tell,
    });
    function tell() {
      const place = node.file ? `  ${node.file}${node.line ? `:${node.line}` : ""}` : "";
      setText(facts, `${node.func}${place} — ${describe(node, share)}`);
    }
    return {
      el,
      update(b) {
        ({ node } = b);
        el.style.setProperty("left", `${100 * b.left}%`);
        el.style.setProperty("width", `${100 * b.width}%`);
        el.style.setProperty("top", `${node.depth * rowHeight}px`);
        setAttr(el, "aria-level", node.depth + 1);
        paint(el, node);
        setText(el, b.width > 0.02 ? shortName(node.func) : "");
      },
      mark(text, isZoom, isFirst) {
        setAttr(el, "aria-label", `${node.func}, ${said(node, share)}`);
        setAttr(el, "data-dim", text && !matches(node, text) ? "" : null);
        setAttr(el, "aria-selected", isZoom);
        setAttr(el, "tabindex", isFirst ? 0 : -1);
      },
    };
  }

  function zoomTo(key) {
    state.zoom = key;
    draw(key || undefined);
  }

  return {
    search, out, found, graph, facts, zoomTo,
    /** show draws a tree of the API. */
    show(tree) {
      state.flame = build(tree);
      draw();
    },
    /** key moves over the boxes. */
    key(event) {
      const at = state.flame?.byKey.get(graph.contains(document.activeElement) ? document.activeElement.dataset.key : undefined);
      if (!at || !event.key.startsWith("Arrow")) return false;
      const next = neighbor(at, event.key);
      graph.keyedParts.get(next?.key)?.el.focus();
      return true;
    },
    /** back zooms out, or ends the search; false if there was neither. */
    back() {
      const zoom = state.flame?.byKey.get(state.zoom);
      if (zoom?.parent) zoomTo(zoom.parent.key);
      else if (state.wanted) { search.value = ""; look(""); } else return false;
      return true;
    },
  };
}

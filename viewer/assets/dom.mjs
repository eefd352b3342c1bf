// Making and updating elements. Data only ever becomes text, attributes or styles.

const svgNS = "http://www.w3.org/2000/svg";

/**
 * h makes an HTML element. Of the properties, "class" and all unknown ones become
 * attributes (false and null leave them out, true writes them empty), "on…" listeners,
 * "style" an object of CSS properties, "data" an object of data attributes. Children are
 * elements or text; null and false are left out.
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** svg makes an SVG element in the same way. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(svgNS, tag), props, children);
}

function fill(el, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) el.style.setProperty(k, v);
    else if (name === "data") Object.assign(el.dataset, value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  el.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

/** setText changes an element's text only if it differs, so that a selection stays. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

/** setAttr changes or, for null and false, removes an attribute. */
export function setAttr(el, name, value) {
  if (value === null || value === false) el.removeAttribute(name);
  else if (el.getAttribute(name) !== String(value)) el.setAttribute(name, value);
}

/**
 * keyed makes the children of a container match the items, reusing the elements of equal
 * keys, so that scroll position, focus and open details stay. make(item) returns an object
 * with el and update(item). Items of one key have a row each, by their order. The first skip children of the container are left alone.
 */
export function keyed(container, items, keyOf, make, skip = 0) {
  const old = container.keyedParts ?? new Map();
  const parts = new Map();
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  let at = container.children[skip] ?? null;
  for (const item of items) {
    let key = keyOf(item);
    while (parts.has(key)) key += "\u0002";
    const part = old.get(key) ?? make(item, key);
    old.delete(key);
    parts.set(key, part);
    part.update(item);
    if (part.el === at) at = at.nextElementSibling;
    else container.insertBefore(part.el, at);
  }
  for (const { el } of old.values()) if (el.parentElement === container) el.remove(); // another may have it now
  container.keyedParts = parts;
  if (focused?.isConnected && document.activeElement !== focused) focused.focus({ preventScroll: true });
}

/**
 * keyedInSlices is keyed for a table with many rows: each slice of them has a body of its own, and the page reacts to its
 * user between two. A row that moves to another body stays the same, with its focus. Another call, and stop, end what
 * is still to be drawn.
 */
export function keyedInSlices(table, items, keyOf, make, slice = 100) {
  clearTimeout(table.nextSlice);
  const rows = new Map([...table.tBodies].flatMap((body) => [...body.keyedParts]));
  const focused = table.contains(document.activeElement) ? document.activeElement : null;
  const draw = (i) => {
    keyed(table.tBodies[i] ?? table.createTBody(), items.slice(i * slice, (i + 1) * slice), keyOf, (item, key) => rows.get(key) ?? make(item));
    if (document.activeElement === document.body && table.contains(focused)) focused.focus({ preventScroll: true });
    if ((i + 1) * slice < items.length) table.nextSlice = setTimeout(draw, 0, i + 1);
    else for (const body of [...table.tBodies].slice(i + 1)) body.remove();
  };
  draw(0);
  return { stop: () => clearTimeout(table.nextSlice) };
}

/**
 * swap replaces the children of a holder by those of a newer answer. What was open in it stays
 * open, the focus stays on the same link or button, and nothing changes while text in it is selected.
 */
export function swap(holder, ...children) {
  const selection = getSelection();
  if (!selection.isCollapsed && holder.contains(selection.anchorNode)) return;
  const inside = (what) => [...holder.querySelectorAll(what)];
  const named = (el) => el.getAttribute("href") ?? el.textContent;
  const focused = holder.contains(document.activeElement) ? named(document.activeElement) : null;
  const open = inside("details").map((d) => d.open);
  holder.replaceChildren(...children);
  inside("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
  if (focused !== null) inside("a, button, summary, pre").find((el) => named(el) === focused)?.focus({ preventScroll: true });
}

/** isSaved: what is shown is over, and does not change. */
export const isSaved = () => document.body.dataset.saved === "true";

/** button makes a button of type "button". */
export function button(text, props, ...children) {
  return h("button", { type: "button", ...props }, text, ...children);
}

/** once makes a listener that is deaf while it runs: a disabled button would lose the focus. */
export function once(f) {
  let busy = false;
  return async (...args) => {
    if (busy) return;
    busy = true;
    try {
      await f(...args);
    } finally {
      busy = false;
    }
  };
}

/** numberCells makes a cell of each number. */
export const numberCells = (numbers) => numbers.map((text) => h("td", { class: "number" }, text));

/** tableHead names columns of text, and behind them columns of numbers. */
export function tableHead(texts, numbers = []) {
  const heads = (list, kind) => list.map((text) => h("th", { scope: "col", class: kind }, text));
  return h("thead", {}, h("tr", {}, heads(texts, "text"), heads(numbers, "number")));
}

/** tableRow has cells of text, and behind them cells of numbers. */
export function tableRow(texts, numbers, props = {}) {
  return h("tr", props, texts.map((text) => h("td", { class: "text" }, text)), numberCells(numbers));
}

/** copyButton copies what text() returns, and says so for a moment. */
export function copyButton(label, text) {
  const el = button(label, { class: "quiet", onclick: async () => {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      said = "Not allowed";
    }
    el.textContent = said;
    setTimeout(() => { el.textContent = label; }, 1500);
  } });
  return el;
}

/** empty makes the block that stands in for missing data and says what to do. */
export function empty(title, ...lines) {
  return h("div", { class: "empty" }, h("h2", {}, title), lines.map((l) => (typeof l === "string" ? h("p", {}, l) : l)));
}

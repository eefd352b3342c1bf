// As much of a document as the page's modules need to make elements and to change them.

export class Element {
  constructor(tag) {
    Object.assign(this, { tag, childNodes: [], parent: null, attributes: new Map(), dataset: {}, listeners: {}, hidden: false, value: "", disabled: false });
    this.style = { setProperty: (name, value) => { this.style[name] = value; } };
    this.classList = { add() {} };
  }
  get children() { return this.childNodes.filter((c) => c instanceof Element); }
  get parentElement() { return this.parent; }
  get firstElementChild() { return this.children[0] ?? null; }
  get nextElementSibling() { const all = this.parent?.children ?? []; return all[all.indexOf(this) + 1] ?? null; }
  get textContent() { return this.childNodes.map((c) => (c instanceof Element ? c.textContent : String(c))).join(""); }
  set textContent(text) { this.replaceChildren(...(text === "" ? [] : [text])); }
  querySelector() { return null; }
  scrollIntoView() {}
  get options() { return this.children; }
  get isConnected() { return this.parent !== null; }
  append(...nodes) { for (const n of nodes) this.insertBefore(n, null); }
  insertBefore(node, at) {
    if (node instanceof Element) {
      node.remove();
      node.parent = this;
    }
    this.childNodes.splice(at ? this.childNodes.indexOf(at) : this.childNodes.length, 0, node);
  }
  remove() {
    if (this.parent && this.contains(document.activeElement)) document.activeElement = document.body;
    if (this.parent) this.parent.childNodes = this.parent.childNodes.filter((c) => c !== this);
    this.parent = null;
  }
  replaceChildren(...nodes) {
    for (const c of this.children) c.parent = null;
    this.childNodes = [];
    this.append(...nodes);
  }
  contains(other) { return other === this || this.children.some((c) => c.contains(other)); }
  all() { return [this, ...this.children.flatMap((c) => c.all())]; }
  querySelectorAll(tags) { return this.all().slice(1).filter((e) => tags.split(", ").includes(e.tag)); }
  getAttribute(name) { return this.attributes.get(name) ?? null; }
  setAttribute(name, value) { this.attributes.set(name, String(value)); if (name === "hidden") this.hidden = true; }
  removeAttribute(name) { this.attributes.delete(name); }
  addEventListener(name, f) { this.listeners[name] = f; }
  click() { return this.listeners.click?.({ target: this }); }
  focus() { document.activeElement = this; }
}

/** install makes the document; answers maps a path below api/v1/ to what fetch gives. */
export function install(answers = {}) {
  const body = new Element("body");
  globalThis.document = {
    body, activeElement: body, hidden: false,
    createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag), addEventListener() {}, removeEventListener() {},
  };
  globalThis.window = { matchMedia: () => ({ matches: false }), innerWidth: 1000 };
  globalThis.getSelection = () => ({ isCollapsed: true, toString: () => "" });
  const kept = new Map();
  globalThis.sessionStorage = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k) };
  globalThis.fetch = async (path, options) => {
    const answer = answers[path.replace("api/v1/", "")] ?? answers[path.replace("api/v1/", "").split("?")[0]];
    const { status = 200, body: json } = typeof answer === "function" ? await answer(options) : { body: answer };
    return { ok: status < 300, status, statusText: "", json: async () => json };
  };
}

/** settle lets what waits for answers go on. */
export const settle = () => new Promise((done) => { setImmediate(done); });

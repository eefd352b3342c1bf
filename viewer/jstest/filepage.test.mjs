import assert from "node:assert/strict";
import { test } from "node:test";
import { install } from "./fakedom.mjs";

// The page as a file: the document has the answers before any module is read.
const status = { enabled: true, state: "running" };
const outcomes = { outcomes: [], held: 2, of: 3 };
const tree = { samples: 0, cpu_ns: 0, self_ns: 0, children: [] };
const curve = { mode: "replay", region: { scope: "", span: "read" }, progress: "GET /", verdict: "withheld", effects: [{ speedup: 0.25, withheld: { code: "few_windows", text: "2 windows" } }] };
const kept = {
  regions: { regions: [] }, "causal/profile": { curves: [curve] }, "causal/plan": { plan: null, status }, "causal/experiments": { experiments: [] }, "causal/outcomes": outcomes,
  stacks: { tree, regions: [], status: { state: "running" }, hz: 100, duration_ns: 1, lost: 0 },
};
install();
document.getElementById = (id) => (id === "kept" ? { textContent: JSON.stringify(kept) } : null);
Object.assign(document.body.dataset, { saved: "true", causal: "true", stacks: "true" });
Object.assign(globalThis, { ResizeObserver: class { observe() {} }, location: { href: "file:///profile.html" } });
const { causalView } = await import("../assets/causal.mjs");
const { overviewView } = await import("../assets/overview.mjs");
const { stacksView } = await import("../assets/stacks.mjs");
const { sessionWaits } = await import("../assets/waits.mjs");

const context = () => ({ hasCausal: true, query: new URLSearchParams(), remember() {}, refresh() {} });

/** seen are the elements of a view that nothing hides, and which are such. */
function seen(el, which) {
  return el.hidden ? [] : [...(which(el) ? [el] : []), ...el.children.flatMap((c) => seen(c, which))];
}

test("a file offers no download, and no answer in another form", async () => {
  for (const make of [causalView, stacksView]) {
    const view = make(context());
    view.render(await view.load());
    const dead = seen(view.el, (e) => e.getAttribute("download") || e.getAttribute("type") === "checkbox");
    assert.deepEqual(dead.map((e) => e.getAttribute("href") ?? e.parent.textContent), [], view.title);
  }
});

test("a file shows what it has: what came of what was foretold, and waits", async () => {
  assert.deepEqual((await overviewView(context()).load()).said, outcomes);
  const spans = [{ waits: [{ kind: "lock", for_ns: 5e6 }] }];
  assert.match(sessionWaits({ recorded: 1, spans }, () => {}).textContent, /5 ms lock/);
  assert.equal(sessionWaits({ recorded: 0, spans: [] }, () => {}), null);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  buildTree, defaultThreshold, extent, hotSteps, isRepeated, keyOf, normalise, rowsOf, selfSegments, thresholds,
} from "../assets/tree.mjs";

let nextID = 0;
function span(name, parent, start, duration, more = {}) {
  nextID++;
  return {
    name, parent, start_ns: start, duration_ns: duration, self_ns: duration, kind: "internal", scope: "test", span_id: String(nextID).padStart(16, "0"),
    status: "Unset", late: false, delay_ns: 0, attributes: [], events: [], links: [], ...more,
  };
}
const query = (text) => ({ kind: "client", attributes: [{ key: "db.query.text", value: text }] });
const brief = (rows) => rows.map((r) => `${"  ".repeat(r.depth)}${r.type === "span" ? r.node.span.name : r.type === "fold" ? `${r.name} x${r.count}` : `${r.count} hidden`}`);

test("normalise takes parameters out of statements", () => {
  const cases = {
    "SELECT a FROM t WHERE id = 42": "SELECT a FROM t WHERE id = ?",
    "SELECT a FROM t1 WHERE id = $1 AND b = :name": "SELECT a FROM t1 WHERE id = ? AND b = ?",
    "select 'it''s', -1.5e3,  x\n from y": "select ?, ?, x from y",
    "SELECT * FROM t WHERE id IN (1, 2, 3)": "SELECT * FROM t WHERE id IN (?…)",
    "INSERT INTO t VALUES (1, 'a'), (2, 'b')": "INSERT INTO t VALUES (?…)",
    "SELECT a::int, col2 FROM t WHERE z = @p1": "SELECT a::int, col2 FROM t WHERE z = ?",
    "": "",
  };
  for (const [from, want] of Object.entries(cases)) assert.equal(normalise(from), want);
});

test("repeated siblings fold by name and statement", () => {
  const spans = [span("root", -1, 0, 1000)];
  for (let i = 0; i < 5; i++) spans.push(span("get", 0, i * 100, 50, query(`SELECT a FROM t WHERE id = ${i}`)));
  spans.push(span("get", 0, 600, 50, query("SELECT b FROM u")));
  const tree = buildTree(spans);
  const rows = rowsOf(tree, {});
  assert.deepEqual(brief(rows), ["root", "  get x5", "  get"]);
  assert.equal(rows[1].repeated, true);
  assert.equal(rows[1].totalNs, 250);
  assert.equal(rows[1].statement, "SELECT a FROM t WHERE id = ?");
  assert.equal(brief(rowsOf(tree, { fold: false })).length, 7);
  assert.equal(brief(rowsOf(tree, { opened: new Set([rows[1].key]) })).length, 8);
  assert.equal(brief(rowsOf(tree, { keep: tree.nodes[3].key })).length, 8, "the selected span is shown");
});

test("two siblings do not fold, and own steps are no N+1", () => {
  const tree = buildTree([span("root", -1, 0, 100), span("a", 0, 0, 10), span("a", 0, 20, 10)]);
  assert.deepEqual(brief(rowsOf(tree, {})), ["root", "  a", "  a"]);
  assert.equal(isRepeated("internal", 40), false);
  assert.equal(isRepeated("client", 4), false);
  assert.equal(isRepeated("client", 5), true);
});

test("short steps are hidden and counted, but not failed, late or selected ones", () => {
  const spans = [
    span("root", -1, 0, 1000), span("tiny", 0, 0, 5), span("tinier", 1, 0, 2), span("small", 0, 10, 5),
    span("failed", 0, 20, 5, { status: "Error" }), span("late", 0, 30, 5, { late: true }),
    span("above a failed one", 0, 40, 5), span("failed below", 6, 41, 2, { status: "Error" }), span("big", 0, 50, 500),
  ];
  const tree = buildTree(spans);
  const rows = rowsOf(tree, { minNs: 10 });
  assert.deepEqual(brief(rows), ["root", "  failed", "  late", "  above a failed one", "    failed below", "  big", "  3 hidden"]);
  const hidden = rows.at(-1);
  assert.equal(hidden.totalNs, 10);
  assert.equal(brief(rowsOf(tree, { minNs: 10, opened: new Set([hidden.key]) })).length, 10, "nine spans, and the row that closes them again");
  assert.ok(brief(rowsOf(tree, { minNs: 10, keep: tree.nodes[2].key })).includes("    tinier"), "the selected span is shown");
});

test("a short step is shown above a long one that outlasts it", () => {
  const tree = buildTree([span("root", -1, 0, 1000), span("starter", 0, 0, 2), span("background", 1, 1, 600)]);
  assert.deepEqual(brief(rowsOf(tree, { minNs: 10 })), ["root", "  starter", "    background"]);
});

test("a fold hides by what its spans take together", () => {
  const spans = [span("root", -1, 0, 1000)];
  for (let i = 0; i < 10; i++) spans.push(span("many", 0, i, 4));
  assert.deepEqual(brief(rowsOf(buildTree(spans), { minNs: 10 })), ["root", "  many x10"]);
});

test("closed spans hide their children", () => {
  const tree = buildTree([span("root", -1, 0, 100), span("a", 0, 0, 10), span("b", 1, 0, 5)]);
  assert.deepEqual(brief(rowsOf(tree, { closed: new Set([tree.nodes[1].key]) })), ["root", "  a"]);
});

test("self segments are what the children leave", () => {
  const tree = buildTree([span("root", -1, 100, 100), span("b", 0, 150, 20), span("a", 0, 90, 30), span("c", 0, 160, 20), span("late", 0, 190, 500)]);
  assert.deepEqual(selfSegments(tree.nodes[0]), [[120, 150], [180, 190]]);
  assert.deepEqual(selfSegments(tree.nodes[1]), [[150, 170]]);
});

test("self segments are few, and as long together as they were", () => {
  const many = 50_000;
  const children = Array.from({ length: many }, (_, i) => span("c", 0, 4 * i + 1, 3));
  const segments = selfSegments(buildTree([span("root", -1, 0, 4 * many), ...children]).nodes[0]);
  assert.ok(segments.length <= 501, `${segments.length} segments`);
  assert.equal(segments.reduce((sum, [from, to]) => sum + to - from, 0), many);
  segments.forEach(([from], i) => assert.ok(i === 0 || from >= segments[i - 1][1], `${i} begins within another`));
});

test("the axis holds late spans and such before the start", () => {
  assert.deepEqual(extent({ duration_ns: 100, spans: [span("a", -1, -5, 10), span("b", -1, 90, 50)] }), [-5, 140]);
  assert.deepEqual(extent({ duration_ns: 0, spans: [] }), [0, 1]);
});

test("hot steps sum self time over parameters", () => {
  const tree = buildTree([
    span("root", -1, 0, 100, { self_ns: 40 }), span("q", 0, 0, 30, query("SELECT 1")), span("q", 0, 30, 30, query("SELECT 2")),
  ]);
  const [first, second] = hotSteps(tree);
  assert.deepEqual([first.name, first.count, first.selfNs, first.share], ["q", 2, 60, 0.6]);
  assert.deepEqual([second.name, second.share], ["root", 0.4]);
});

test("spans without an id are named by their place", () => {
  assert.equal(keyOf({ span_id: "0000000000000000" }, 7), "i7");
  assert.equal(keyOf({ span_id: "00000000000000a0" }, 7), "00000000000000a0");
});

test("thresholds fit the session", () => {
  assert.deepEqual(thresholds(1e6), [0, 1e4, 1e5]);
  assert.equal(defaultThreshold(1e9, 20), 0);
  assert.equal(defaultThreshold(25e6, 60), 1e5);
});

test("a deep chain of spans has a row for each", () => {
  const deep = 10_000;
  const tree = buildTree(Array.from({ length: deep }, (_, i) => span("a", i - 1, i, deep - i)));
  const rows = rowsOf(tree, {});
  assert.equal(rows.length, deep);
  assert.equal(rows.at(-1).depth, deep - 1);
});

test("spans that share an id have a key each, of which the first is the id", () => {
  const id = "00000000000000aa";
  const tree = buildTree([span("root", -1, 0, 9, { span_id: id }), span("a", 0, 0, 1, { span_id: id }), span("b", 0, 2, 1, { span_id: id })]);
  assert.deepEqual(rowsOf(tree, {}).map((r) => r.key), [id, "i1", "i2"]);
  assert.equal(tree.byKey.get("i2").span.name, "b");
});

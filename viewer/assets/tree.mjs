// The tree of one session and the rows it is shown as. No access to the page.

/** foldAt is how many siblings of one kind make a folded row. */
export const foldAt = 3;
/** repeatAt is from how many on repeated client calls are flagged as N+1. */
export const repeatAt = 5;

const statementKeys = ["db.query.text", "db.statement"];

/** statementOf returns a span's database statement, "" for none. */
export function statementOf(span) {
  const attr = span.attributes.find((a) => statementKeys.includes(a.key));
  return attr ? String(attr.value) : "";
}

/**
 * normalise takes the parameters out of a statement: strings, numbers and placeholders
 * become "?", a list of them "(?…)", white space one space.
 */
export function normalise(statement) {
  return statement
    .replace(/'(?:[^']|'')*'/g, "?")
    .replace(/\$\d+|(?<![:\w]):[A-Za-z_]\w*|@\w+/g, "?")
    .replace(/(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/gi, "?")
    .replace(/\s+/g, " ")
    .replace(/\(\s*\?(?:\s*,\s*\?)+\s*\)/g, "(?…)")
    .replace(/(\(\?…\))(?:\s*,\s*(?:\(\?…\)))+/g, "$1")
    .trim();
}

/** foldKey is equal for spans that do the same with other parameters. */
export function foldKey(span) {
  return [span.kind, span.scope, span.name, normalise(statementOf(span))].join("\u0000");
}

/** keyOf names a span in the page and in links. */
export function keyOf(span, index) {
  return /[1-9a-f]/.test(span.span_id) ? span.span_id : `i${index}`;
}

/**
 * buildTree links the spans. Each node has its span, key, fold key, children in order of
 * start, and of its subtree the number of spans, that of failed or late ones, and the
 * longest duration: a child may outlast its parent.
 */
export function buildTree(spans) {
  const byKey = new Map();
  const nodes = spans.map((span, index) => {
    let key = keyOf(span, index);
    if (byKey.has(key)) key = `i${index}`; // a span without an ID of its own has its caller's
    const node = {
      span, index, key, fold: foldKey(span), parent: null, children: [],
      size: 1, longestNs: span.duration_ns, flagged: span.status === "Error" || span.late ? 1 : 0,
    };
    byKey.set(key, node);
    return node;
  });
  const roots = [];
  for (const node of nodes) {
    node.parent = nodes[node.span.parent] ?? null;
    (node.parent ? node.parent.children : roots).push(node);
  }
  for (let i = nodes.length - 1; i >= 0; i--) { // children stand behind their parents
    const { parent } = nodes[i];
    if (parent) {
      parent.size += nodes[i].size;
      parent.flagged += nodes[i].flagged;
      parent.longestNs = Math.max(parent.longestNs, nodes[i].longestNs);
    }
  }
  return { nodes, roots, byKey };
}

const maxSegments = 500; // of one span: more are neither seen nor drawn in time

/**
 * selfSegments returns the parts [start, end] of a node in which no child was open. A part that begins within a
 * 500th of the node after another is joined to it without the child between them: their sum stays true.
 */
export function selfSegments(node) {
  const from = node.span.start_ns;
  const to = from + node.span.duration_ns;
  const out = [];
  let at = from;
  let next = from; // from here on a part stands by itself
  const add = (end) => {
    if (end > at && at < next) out.at(-1)[1] += end - at;
    else if (end > at) {
      out.push([at, end]);
      next = at + (to - from) / maxSegments;
    }
  };
  const children = node.children.map((c) => c.span).sort((a, b) => a.start_ns - b.start_ns);
  for (const child of children) {
    add(Math.min(Math.max(child.start_ns, from), to));
    at = Math.max(at, Math.min(child.start_ns + child.duration_ns, to));
  }
  add(to);
  return out;
}

/** extent returns the time axis that holds the session and all its spans. */
export function extent(session) {
  let lo = 0;
  let hi = Math.max(session.duration_ns, 1);
  for (const s of session.spans) {
    lo = Math.min(lo, s.start_ns);
    hi = Math.max(hi, s.start_ns + s.duration_ns);
  }
  return [lo, hi];
}

/** hotSteps sums self time by fold key, the longest first. */
export function hotSteps(tree) {
  const steps = new Map();
  let whole = 0;
  for (const node of tree.nodes) {
    const { span } = node;
    const step = steps.get(node.fold) ?? {
      fold: node.fold, name: span.name, kind: span.kind, statement: normalise(statementOf(span)),
      count: 0, selfNs: 0, first: node.key,
    };
    step.count++;
    step.selfNs += span.self_ns;
    whole += span.self_ns;
    steps.set(node.fold, step);
  }
  const out = [...steps.values()].sort((a, b) => b.selfNs - a.selfNs || a.name.localeCompare(b.name));
  for (const step of out) step.share = whole > 0 ? step.selfNs / whole : 0;
  return out;
}

/**
 * rowsOf returns the rows to show, from top to bottom. A row is a span, a fold of
 * repeated siblings, or the note that siblings are hidden.
 *
 * options: minNs hides what took less, unless it or something below it failed or was
 * late; fold folds; closed and opened are the sets of keys that were closed and opened by
 * hand; keep is the key of a span that is always shown.
 */
export function rowsOf(tree, options) {
  const { minNs = 0, fold = true, closed = new Set(), opened = new Set(), keep = null } = options;
  const rows = [];
  const kept = new Set();
  for (let n = tree.byKey.get(keep); n; n = n.parent) kept.add(n);

  // What is still to be shown, the next last: of a deep tree, calls would be too many for the stack.
  const jobs = [];
  // all shows also the short ones, below a step that was itself hidden.
  const visit = (siblings, depth, parentKey, all) => {
    const hiddenKey = `hidden:${parentKey}`;
    const next = [];
    const hidden = { count: 0, totalNs: 0 };
    for (const group of groupsOf(siblings, fold)) {
      const total = group.reduce((sum, n) => sum + n.span.duration_ns, 0);
      const hide = !all && total < minNs && !group.some((n) => n.flagged > 0 || n.longestNs >= minNs || kept.has(n));
      if (hide) {
        hidden.count += group.reduce((sum, n) => sum + n.size, 0);
        hidden.totalNs += total;
        if (!opened.has(hiddenKey)) continue;
      }
      const folded = group.length > 1;
      if (folded) {
        const key = `fold:${group[0].key}`;
        const open = opened.has(key) || group.some((n) => kept.has(n));
        next.push({ row: { ...foldRow(group, total), key, depth, open, expandable: true } });
        if (!open) continue;
      }
      for (const node of group) next.push({ node, depth: depth + folded, all: all || hide });
    }
    if (hidden.count > 0) next.push({ row: { type: "hidden", key: hiddenKey, depth, open: opened.has(hiddenKey), expandable: true, ...hidden } });
    while (next.length > 0) jobs.push(next.pop());
  };
  visit(tree.roots, 0, "root", false);
  while (jobs.length > 0) {
    const { row, node, depth, all } = jobs.pop();
    if (row) {
      rows.push(row);
      continue;
    }
    const open = !closed.has(node.key);
    rows.push({ type: "span", key: node.key, depth, node, expandable: node.children.length > 0, open });
    if (open) visit(node.children, depth + 1, node.key, all);
  }
  return rows;
}

/** groupsOf puts siblings together that fold, at the place of the first. */
function groupsOf(siblings, fold) {
  const byKey = new Map();
  for (const node of siblings) {
    const same = byKey.get(node.fold);
    if (same) same.push(node);
    else byKey.set(node.fold, [node]);
  }
  const foldable = (node) => fold && byKey.get(node.fold).length >= foldAt;
  const out = [];
  for (const node of siblings) {
    const same = byKey.get(node.fold);
    if (!foldable(node)) out.push([node]);
    else if (same[0] === node) out.push(same);
  }
  return out;
}

function foldRow(nodes, totalNs) {
  const sorted = nodes.map((n) => n.span.duration_ns).sort((a, b) => a - b);
  const { span } = nodes[0];
  return {
    type: "fold", nodes, name: span.name, kind: span.kind, statement: normalise(statementOf(span)),
    count: nodes.length, totalNs,
    selfNs: nodes.reduce((sum, n) => sum + n.span.self_ns, 0),
    minNs: sorted[0], medianNs: sorted[sorted.length >> 1], maxNs: sorted[sorted.length - 1],
    errors: nodes.filter((n) => n.span.status === "Error").length,
    flagged: nodes.reduce((sum, n) => sum + n.flagged, 0),
    repeated: isRepeated(span.kind, nodes.length),
  };
}

/** isRepeated reports whether that many equal calls look like a query in a loop. */
export function isRepeated(kind, n) {
  return kind === "client" && n >= repeatAt;
}

/** thresholds are the choices of what to hide, for a session of this duration. */
export function thresholds(durationNs) {
  const all = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
  return [0, ...all.filter((ns) => ns <= durationNs / 4)];
}

/** defaultThreshold hides nothing in small sessions, and a thousandth in large ones. */
export function defaultThreshold(durationNs, spanCount) {
  if (spanCount <= 40) return 0;
  return thresholds(durationNs).filter((ns) => ns <= durationNs / 200).at(-1) ?? 0;
}

// Two call-stack trees over each other. No access to the page.

import { keyOf } from "./flame.mjs";

/**
 * differ reports whether n of all samples and m of those of another run are other shares by more
 * than chance (95 %): the interval of Agresti and Caffo (2000), which holds for few samples, too.
 */
export function differ(n, all, m, others) {
  const [p, q] = [(n + 1) / (all + 2), (m + 1) / (others + 2)];
  return Math.abs(p - q) > 1.96 * Math.sqrt((p * (1 - p)) / (all + 2) + (q * (1 - q)) / (others + 2));
}

/**
 * overlay makes one of the API's trees of those of two runs. Calls are as wide as the mean of their shares of the time of
 * both, in ns of a second; shares has both and whether they differ. A tree without samples counts as none.
 */
export function overlay(before, after) {
  const sides = [before, after];
  const whole = sides.map((t) => t.cpu_ns || 1);
  const merge = (pair) => {
    const [was, is] = pair.map((c, i) => (c?.cpu_ns ?? 0) / whole[i]);
    const own = pair.map((c, i) => (c?.self_ns ?? 0) / whole[i]);
    const [n, m] = pair.map((c) => c?.samples ?? 0);
    const { func, file, line } = pair[0] ?? pair[1];
    return {
      func, file, line, cpu_ns: 5e8 * (was + is), self_ns: 5e8 * (own[0] + own[1]), samples: n + m, children: [],
      shares: { was, is, clear: differ(n, before.samples, m, after.samples) },
    };
  };
  const root = merge(sides);
  const todo = [[root, sides]];
  while (todo.length > 0) {
    const [into, pair] = todo.pop();
    const calls = new Map();
    pair.forEach((c, i) => c?.children?.forEach((child) => {
      const key = keyOf("", child);
      if (!calls.has(key)) calls.set(key, [undefined, undefined]);
      calls.get(key)[i] = child;
    }));
    for (const both of calls.values()) {
      const node = merge(both);
      into.children.push(node);
      todo.push([node, both]);
    }
    into.children.sort((a, b) => b.cpu_ns - a.cpu_ns);
  }
  return root;
}

/**
 * functionsOf compares two trees by functions: shares of the time in the function itself, and with all that it calls, where
 * recursion counts once. Those whose own share changed most come first.
 */
export function functionsOf(before, after) {
  const found = new Map();
  [before, after].forEach((tree, i) => {
    const open = new Map();
    const todo = tree.children.map((c) => [c, false]);
    while (todo.length > 0) {
      const [c, isLeft] = todo.pop();
      const depth = open.get(c.func) ?? 0;
      if (isLeft) {
        open.set(c.func, depth - 1);
        continue;
      }
      if (!found.has(c.func)) found.set(c.func, { func: c.func, self: [0, 0], whole: [0, 0], samples: [0, 0] });
      const f = found.get(c.func);
      f.self[i] += c.self_ns / (tree.cpu_ns || 1);
      f.samples[i] += c.self_samples;
      if (depth === 0) f.whole[i] += c.cpu_ns / (tree.cpu_ns || 1);
      open.set(c.func, depth + 1);
      todo.push([c, true], ...(c.children ?? []).map((child) => [child, false]));
    }
  });
  const moved = ([was, is]) => Math.abs(is - was);
  return [...found.values()]
    .map((f) => ({ ...f, clear: differ(f.samples[0], before.samples, f.samples[1], after.samples) }))
    .sort((a, b) => moved(b.self) - moved(a.self) || moved(b.whole) - moved(a.whole) || a.func.localeCompare(b.func));
}

// What a flame graph shows of a call-stack tree. No access to the page.

/** thinnest is the part of the width below which a call is not drawn. */
export const thinnest = 0.0008;

// One function may have calls of two files: what the compiler generates for it has one of its own.
export const keyOf = (parent, n) => `${parent}\u0001${n.func}\u0000${n.file ?? ""}\u0000${n.line ?? 0}`;

/**
 * build makes nodes of the API's tree: with a key that stays the same from one answer to the
 * next, their caller, their depth, and where they begin, in nanoseconds from the left.
 */
export function build(tree) {
  const root = {
    key: "", func: "all", file: "", line: 0, cpu: tree.cpu_ns, self: tree.self_ns, samples: tree.samples,
    depth: -1, start: 0, parent: null, children: [],
  };
  const byKey = new Map([["", root]]);
  const todo = [[root, tree.children]];
  while (todo.length > 0) {
    const [parent, children] = todo.pop();
    let { start } = parent;
    for (const c of children) {
      const node = {
        key: keyOf(parent.key, c), func: c.func, file: c.file ?? "", line: c.line ?? 0, cpu: c.cpu_ns, self: c.self_ns,
        samples: c.samples, depth: parent.depth + 1, start, parent, children: [], shares: c.shares, // of two runs, see overlay.mjs
      };
      start += node.cpu;
      parent.children.push(node);
      byKey.set(node.key, node);
      if (c.children) todo.push([node, c.children]);
    }
  }
  return { root, byKey };
}

/**
 * layout returns the boxes to draw when zoomed into a node: those of its callers over the whole
 * width, its own and those below. Left and width are parts of one. The number of calls that are too
 * thin is there too.
 */
export function layout(zoom) {
  const boxes = [];
  let hidden = 0;
  for (let n = zoom; n.parent; n = n.parent) boxes.unshift({ node: n, left: 0, width: 1 });
  const whole = zoom.cpu || 1;
  const todo = [...zoom.children];
  while (todo.length > 0) {
    const n = todo.pop();
    const width = n.cpu / whole;
    if (width < thinnest) {
      hidden++;
      continue;
    }
    boxes.push({ node: n, left: (n.start - zoom.start) / whole, width });
    todo.push(...n.children);
  }
  return { boxes, hidden };
}

/** matches reports whether a call is one that is searched for. */
export const matches = (node, wanted) => wanted !== "" && `${node.func}\n${node.file}`.toLowerCase().includes(wanted);

/** matched is the time in calls that are searched for; one inside another counts once. */
export function matched(root, wanted) {
  let sum = 0;
  const todo = [root];
  while (todo.length > 0) {
    const n = todo.pop();
    if (n.parent && matches(n, wanted)) sum += n.cpu;
    else todo.push(...n.children);
  }
  return sum;
}

/** neighbor is where an arrow key leads from a node; null if there is nothing. */
export function neighbor(node, key) {
  const siblings = node.parent?.children ?? [node];
  const at = siblings.indexOf(node);
  switch (key) {
    case "ArrowUp": return node.parent?.parent ? node.parent : null;
    case "ArrowDown": return node.children[0] ?? null;
    case "ArrowLeft": return siblings[at - 1] ?? null;
    case "ArrowRight": return siblings[at + 1] ?? null;
    default: return null;
  }
}

/** packageOf is the package of a function: "net/http" of "net/http.(*conn).serve". */
export function packageOf(func) {
  const slash = func.lastIndexOf("/") + 1;
  const dot = func.indexOf(".", slash);
  return dot < 0 ? func : func.slice(0, dot);
}

/** hueOf gives each package one of six colors. */
export function hueOf(func) {
  let hash = 0x811c9dc5; // FNV-1a
  for (const c of packageOf(func)) hash = Math.imul(hash ^ c.codePointAt(0), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % 6;
}

/** shortName leaves the directories of the package out. */
export const shortName = (func) => func.slice(func.lastIndexOf("/", func.indexOf("[") < 0 ? func.length : func.indexOf("[")) + 1);

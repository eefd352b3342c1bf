// All goroutines of a moment as one tree. No access to the page.

/** merged makes one tree of the API's groups: below the root a call for each reason to wait, as "[chan receive]". */
export function merged(dump) {
  return {
    samples: dump.count, cpu_ns: dump.count, self_ns: 0,
    children: dump.groups.map((g) => ({
      func: reasonName(g.reason), samples: g.count, cpu_ns: g.count, self_ns: g.tree.self_samples, children: g.tree.children,
    })),
  };
}

/** reasonName is a reason as the runtime and the text have it. */
export const reasonName = (reason) => `[${reason}]`;

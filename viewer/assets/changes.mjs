// What would be if the program were built in another way: rows for the page. No access to it.

import { pointOf } from "./curves.mjs";

/** changesOf returns the changes with a number at a goal, the largest first: texts and points. */
export function changesOf(profile, goal) {
  return (profile.changes ?? [])
    .filter((c) => goal && c.progress === goal.progress && (c.metric || "throughput") === goal.metric && !c.effect.withheld)
    .map((c) => ({ text: c.change, ...pointOf(c.effect, goal.metric) }))
    .sort((a, b) => Math.abs(b.reduction) - Math.abs(a.reduction) || a.text.localeCompare(b.text));
}

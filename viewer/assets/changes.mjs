// What would be if the program were built in another way: rows for the page. No access to it.

import { changeOf, isThroughput } from "./curves.mjs";

/** changesOf returns the changes with a number at a goal, the largest first: text, and effect with its interval. */
export function changesOf(profile, goal) {
  return (profile.changes ?? [])
    .filter((c) => goal && c.progress === goal.progress && (c.metric || "throughput") === goal.metric && !c.effect.withheld)
    .map((c) => {
      const ends = [changeOf(goal.metric, c.effect.lo), changeOf(goal.metric, c.effect.hi)];
      const [lo, hi] = isThroughput(goal.metric) ? ends : ends.reverse();
      return { text: c.change, change: changeOf(goal.metric, c.effect.reduction), lo, hi, loose: c.effect.loose === true, verdict: c.effect.verdict, size: Math.abs(c.effect.reduction) };
    })
    .sort((a, b) => b.size - a.size || a.text.localeCompare(b.text));
}

// What was foretold of a version, and what came with the next, in words. No access to the page.

import { metricName } from "./causalwords.mjs";
import { percent } from "./format.mjs";
import { points } from "./overviewrows.mjs";

const said = {
  held: "✓ held",
  missed: "✗ missed",
  other_load: "not judged: the load was another one",
  others_changed: "not judged: other regions changed as well",
};

const short = (version) => (/^[0-9a-f]{40}$/.test(version) ? version.slice(0, 8) : version);

/** outcomeText is one outcome in a sentence. */
export function outcomeText(o) {
  const what = o.metric === "throughput" ? `the time for each ${o.progress}` : `${metricName(o.metric)} of ${o.progress}`;
  return `${short(o.to)} made ${o.region.span} ${percent(o.faster)} faster: ${short(o.from)} foretold ${points(o.foretold)} % (${points(o.lo)} to ${points(o.hi)}) less of ${what}, ${points(o.came)} % came`;
}

/** verdictOf says whether that held. */
export const verdictOf = (o) => said[o.verdict] ?? o.verdict;

/** calibrationText sums them up. */
export const calibrationText = ({ held, of }) => (of > 0 ? `${held} of ${of} that can be judged held` : "none can be judged yet");

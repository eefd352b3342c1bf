import assert from "node:assert/strict";
import { test } from "node:test";

import { calibrationText, outcomeText, verdictOf } from "../assets/outcomewords.mjs";

const outcome = {
  from: "0123456789012345678901234567890123456789", to: "1.5.0", region: { scope: "shop", span: "reserve stock" }, faster: 0.23,
  progress: "POST /orders", metric: "throughput", foretold: 0.221, lo: 0.15, hi: 0.316, came: 0.208, load: 0.01, verdict: "held",
};

test("an outcome has both versions, what was foretold and what came", () => {
  assert.equal(outcomeText(outcome), "1.5.0 made reserve stock 23 % faster: 01234567 foretold 22 % (15 to 32) less of the time for each POST /orders, 21 % came");
  assert.match(outcomeText({ ...outcome, metric: "latency_p99", came: -0.02 }), /less of latency p99 of POST \/orders, −2.0 % came$/);
  assert.equal(verdictOf(outcome), "✓ held");
  assert.equal(verdictOf({ verdict: "of a later version" }), "of a later version");
  assert.equal(calibrationText({ held: 5, of: 6 }), "5 of 6 that can be judged held");
  assert.equal(calibrationText({ held: 0, of: 0 }), "none can be judged yet");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionsText, recordingText, whyNoRecording } from "../assets/recordingwords.mjs";

const now = Date.parse("2026-01-02T03:04:05Z");
const at = (seconds) => new Date(now + 1000 * seconds).toISOString();
const of = (more) => recordingText({ on: true, phase: "waiting", recordings: 0, failed: 0, ...more }, now);

test("the state of recordings is said in one sentence", () => {
  assert.equal(of({}), "Recordings are on. Recordings delay nothing.");
  assert.equal(of({ next: at(12) }), "Recordings are on; the next in 12 s. Recordings delay nothing.");
  assert.equal(of({ phase: "recording", next: at(-1) }), "Recording now. Recordings delay nothing.");
  assert.equal(of({ phase: "analysing", recordings: 2, last: { begun: at(-30), length_ns: 3e9 } }),
    "Simulating what was recorded; 2 recordings so far, the last 30 s ago for 3 s. Recordings delay nothing.");
  assert.equal(of({ recordings: 9, next: at(60), last: { begun: at(-30), length_ns: 1.5e9, cut: true } }),
    "Answers come from recordings; 9 recordings so far, the last 30 s ago for 1.50 s, cut since it became too large; the next in 60 s. Recordings delay nothing.");
  assert.match(of({ recordings: 1, last: { begun: at(-30), length_ns: 3e9, shared: true } }), /the last 30 s ago for 3 s, beside an execution trace that was on before\./);
  assert.match(of({ recordings: 1, reason: "experiments delay the program" }), /none when the last was due: experiments delay the program\./);
});

test("nothing is said where nothing is known, or recordings are off", () => {
  assert.equal(recordingText(undefined), "");
  assert.equal(recordingText({ on: false, phase: "waiting", recordings: 0 }), "");
  assert.match(recordingText({ on: false, phase: "waiting", recordings: 1 }, now), /^Answers come from recordings; 1 recording so far\./);
});

test("it says why there is no number yet", () => {
  const why = (recording, curves = []) => whyNoRecording({ recording }, { curves });
  assert.deepEqual(why(undefined), []);
  assert.match(why({ on: false, recordings: 0 })[0], /OTELPROF_REPLAY=off/);
  assert.match(why({ on: true, recordings: 0 })[0], /send the application requests/);
  assert.match(why({ on: true, recordings: 0, reason: "the process is traced by others" })[1], /traced by others\.$/);
  assert.match(why({ on: true, phase: "waiting", recordings: 3 })[0], /3 recordings so far/);
  const curve = (withheld) => ({ mode: "replay", effects: [{ speedup: 0.25, withheld }] });
  assert.deepEqual(why({ on: true, recordings: 5 }, [curve(undefined)]), []);
  assert.equal(why({ on: true, phase: "waiting", recordings: 5 }, [curve({ code: "deviation", text: "not within 3 %" })]).length, 1);
});

test("the conditions of recordings are said where they matter", () => {
  const recorded = { length_ns: 9e9, progress: [{ progress: "order", loop: "open" }, { progress: "search", loop: "closed" }, { progress: "tick" }] };
  assert.match(conditionsText(recorded, "order"), /open loop.*latency can change, throughput cannot\.$/);
  assert.match(conditionsText(recorded, "search"), /closed loop/);
  assert.equal(conditionsText(recorded, "tick"), "");
  assert.equal(conditionsText(undefined, "order"), "");
  const hard = { ...recorded, cpu_ns: 10e9, others_ns: 4e9, stolen_ns: 1e6, starved: 0.3, stalled_ns: 5e8 };
  assert.equal(conditionsText(hard, "tick"), "While it was recorded, goroutines had no processor for 30 % of the time that they ran: other programs had 4 s. "
    + "Intervals are wider by that. The program stood still for 500 ms of 9 s, which is left out.");
});

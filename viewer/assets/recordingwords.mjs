// Words about the recordings that replay simulates. No access to the page.

import { ago, duration, percent, plural, until } from "./format.mjs";

/** recordingText says what is done, what there is, and when there will be more; "" where nothing is known. */
export function recordingText(recording, now = Date.now()) {
  if (!recording) return "";
  if (!recording.on && !recording.recordings) return "";
  const doing = { recording: "Recording now", analysing: "Simulating what was recorded" }[recording.phase];
  const parts = [doing ?? (recording.recordings ? "Answers come from recordings" : "Recordings are on")];
  const { last } = recording;
  if (recording.recordings) {
    parts.push(`${plural(recording.recordings, "recording")} so far${last ? `, the last ${ago(last.begun, now)} for ${duration(last.length_ns)}${last.cut ? ", cut since it became too large" : ""}${last.shared ? ", beside an execution trace that was on before" : ""}` : ""}`);
  }
  if (!doing && recording.on && later(recording.next, now)) parts.push(`the next ${until(recording.next, now)}`);
  if (recording.reason) parts.push(`none when the last was due: ${recording.reason}`);
  return `${parts.join("; ")}. Recordings delay nothing.`;
}

const later = (date, now) => Boolean(date) && new Date(date).getTime() > now;

/** whyNoRecording says in sentences why there are no numbers from recordings yet, none where there are some. */
export function whyNoRecording(status, profile) {
  const { recording } = status;
  if (!recording || profile.curves.some((c) => c.mode === "replay" && c.effects.some((e) => !e.withheld))) return [];
  if (!recording.on) return ["Recordings, which would answer without delaying anything, are off, by the option WithoutReplay or OTELPROF_REPLAY=off."];
  if (recording.recordings === 0) {
    return ["Recordings are on. They need no plan and delay nothing. The first numbers come within 20 s of traffic: send the application requests.",
      ...(recording.reason ? [`None was made when one was due: ${recording.reason}.`] : [])];
  }
  return [recordingText(recording)];
}

const worthSaying = 0.02; // of the processor time, or of what was recorded

/** conditionsText says how work comes to a progress point, and what the machine did to the recorded program; "" for nothing. */
export function conditionsText(recorded, progress) {
  if (!recorded) return "";
  const parts = [];
  const { loop } = recorded.progress?.find((p) => p.progress === progress) ?? {};
  if (loop === "open") parts.push(`Work comes to ${progress} in an open loop, at times that do not depend on how fast the program is: latency can change, throughput cannot.`);
  if (loop === "closed") parts.push(`Work comes to ${progress} in a closed loop: each client sends its next request when the last one is answered.`);
  if (recorded.starved >= worthSaying) {
    const who = [["other programs had", recorded.others_ns], ["the host took", recorded.stolen_ns], ["a quota withheld", recorded.throttled_ns]]
      .filter(([, ns]) => ns >= worthSaying * (recorded.cpu_ns ?? 0)).map(([text, ns]) => `${text} ${duration(ns)}`);
    parts.push(`While it was recorded, goroutines had no processor for ${percent(recorded.starved)} of the time that they ran${who.length ? `: ${who.join(", ")}` : ""}. Intervals are wider by that.`);
  }
  if (recorded.stalled_ns >= worthSaying * recorded.length_ns) {
    parts.push(`The program stood still for ${duration(recorded.stalled_ns)} of ${duration(recorded.length_ns)}, which is left out.`);
  }
  return parts.join(" ");
}

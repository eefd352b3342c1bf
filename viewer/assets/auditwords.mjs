// What happened to plans, in words. No access to the page.

import { duration } from "./format.mjs";

const kinds = {
  received: "received", rejected: "rejected", ignored: "not for this process", started: "started", panicked: "panic in otelprof",
  stopped: "stopped", expired: "expired", spent: "budget used up", aborted: "aborted", withheld: "withheld",
};

/** eventText says one event of the audit: "plan a stopped: by hand; 7 ms inserted". */
export function eventText(e) {
  const kind = kinds[e.kind] ?? e.kind;
  const what = e.kind === "panicked" ? kind : `${e.plan_id ? `plan ${e.plan_id}` : "a document"} ${kind}`;
  return `${what}${e.message ? `: ${e.message}` : ""}${e.spent_ns ? `; ${duration(e.spent_ns)} inserted` : ""}`;
}

/** whoText says who asked: "ann by viewer (why is it slow?)". */
export function whoText(e) {
  const who = [e.author, e.source && (e.author ? `by ${e.source}` : e.source)].filter(Boolean).join(" ");
  return e.plan_reason ? `${who} (${e.plan_reason})` : who;
}

/** isBad is true of events that call for an operator. */
export const isBad = (e) => ["rejected", "panicked", "aborted"].includes(e.kind);

/** newestFirst is the audit as it is shown. */
export const newestFirst = (status) => [...(status.audit ?? [])].reverse();

/** writing says how plans reach the process, where that is not by this page. */
export function writing(replaceable) {
  return replaceable
    ? "A plan replaces the one in force. It needs the token that the application gave to the viewer."
    : "This page takes no plans: the application has given the viewer no token. viewer.WithToken allows it; the plan file and "
      + "a plan server are other ways.";
}

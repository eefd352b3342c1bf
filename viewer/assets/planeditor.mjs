// The form for a plan, with what it would do as one types.

import { ApiError, request } from "./api.mjs";
import { writing } from "./auditwords.mjs";
import { button, copyButton, h, isSaved, setAttr, setText } from "./dom.mjs";
import { plural } from "./format.mjs";

const pause = 300; // ms without a key before the process is asked

/** planEditor makes the form. apply(document) sends the plan. */
export function planEditor(apply) {
  const text = h("textarea", { rows: 20, spellcheck: "false", "aria-label": "Plan document", "aria-describedby": "plan-verdict", oninput: () => { touched = true; later(); } });
  const verdict = h("p", { class: "plan-verdict", id: "plan-verdict", role: "status" });
  const send = button("Apply this plan", { class: "primary", disabled: true, onclick: () => sendOff() });
  const anew = button("Write a new one", { class: "quiet", onclick: () => { touched = false; fill(); } });
  const how = h("p", { class: "note" });
  const summary = h("summary", {}, "Write a plan"); // until it is known whether this page may send one
  const words = h("div", { class: "plan-words" });
  const el = h("details", { class: "experiment plan-editor", ontoggle: () => { if (el.open) fill(); } }, summary, how,
    h("div", { class: "plan-columns" }, h("div", {}, text, h("div", {}, send, " ", copyButton("Copy", () => text.value), " ", anew), verdict), words));
  let draft = () => "";
  let touched = false;
  let takes = false;
  let timer = 0;
  let asked = 0;

  /** fill writes a plan for this program, unless the user has begun one. */
  function fill() {
    if (!touched) text.value = draft();
    check();
  }

  async function sendOff() {
    await check(); // it may have expired meanwhile, and what is no plan ends the one in force
    if (!send.disabled) apply(text.value);
  }

  function later() {
    asked++;
    send.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(check, pause);
  }

  async function check() {
    clearTimeout(timer);
    const mine = ++asked;
    const document = text.value;
    try {
      const answer = await request("causal/plan/check", { method: "POST", body: document });
      if (mine === asked) tell(answer);
    } catch (err) {
      if (mine === asked) blame(err);
    }
  }

  function tell({ lines, cost, refused, warnings }) {
    setAttr(text, "aria-invalid", null);
    send.disabled = Boolean(refused) || !takes;
    setText(verdict, refused ? `It is a plan, but would not be started here: ${refused}` : `✓ Applying it ${cost}.${warnings.length ? ` ${plural(warnings.length, "warning")}.` : ""}`);
    setAttr(verdict, "data-bad", Boolean(refused));
    const groups = [];
    for (const l of lines) {
      if (l.title) groups.push([l.title, []]);
      groups.at(-1)[1].push(l.text);
    }
    words.replaceChildren(h("table", { class: "plan-check" }, h("caption", {}, "What this plan will do"),
      h("tbody", {}, groups.map(([title, texts]) => h("tr", { data: { title } }, h("th", { scope: "row", class: "text" }, title), h("td", { class: "text" }, texts.map((t) => h("span", {}, t))))))));
  }

  function blame(err) {
    send.disabled = true;
    const problems = err.details?.problems ?? [];
    setAttr(text, "aria-invalid", "true");
    setAttr(verdict, "data-bad", true);
    setText(verdict, problems.length ? `✗ Not a plan yet: ${plural(problems.length, "problem")}.` : err instanceof ApiError ? `✗ ${err.message}` : "The process does not answer.");
    words.replaceChildren(h("ol", { class: "plan-problems" }, problems.map((p) => h("li", {},
      p.line > 0 && button(`line ${p.line}`, { class: "quiet", onclick: () => goTo(p.line) }), p.text))));
  }

  /** goTo selects a line of the document. */
  function goTo(line) {
    const before = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = text.value.indexOf("\n", before);
    text.focus();
    text.setSelectionRange(before, end < 0 ? text.value.length : end);
    text.scrollTop = (line - 4) * (text.scrollHeight / text.value.split("\n").length);
  }

  return {
    el,
    sendOff,
    /** offer shows how to write a plan for this program, and whether this page may send it. */
    offer(make, { enabled, replaceable }) {
      draft = make;
      takes = replaceable;
      if (el.open && !text.value) fill(); // it was opened before anything was known
      send.hidden = !replaceable;
      el.hidden = isSaved() || !enabled;
      setText(summary, replaceable ? "Start an experiment" : "Write a plan");
      setText(how, writing(replaceable));
    },
    /** edit opens the form with a plan for this program. */
    edit() {
      touched = false;
      el.open = true;
      fill();
      el.scrollIntoView({ block: "start" });
      text.focus({ preventScroll: true });
    },
  };
}

// The plan in force: its line, its limits, the button that stops it, the form for another, what has happened.

import { ApiError, request } from "./api.mjs";
import { eventText, isBad, newestFirst, whoText } from "./auditwords.mjs";
import { endOf, gauges, levelOf } from "./breakerwords.mjs";
import { handoverText } from "./causalwords.mjs";
import { button, h, isSaved, keyed, once, setAttr, setText, tableHead } from "./dom.mjs";
import { clock, count, dateTime, plural, until } from "./format.mjs";
import { planEditor } from "./planeditor.mjs";
import { recordingText } from "./recordingwords.mjs";

const states = {
  idle: ["○", "Idle", "no plan"],
  waiting: ["◔", "Waiting", "the plan's time has not come"],
  running: ["▶", "Running", "experiments run, delays may be inserted"],
  stopped: ["■", "Stopped", ""],
  expired: ["■", "Expired", "the plan's time is over"],
  spent: ["■", "Spent", "the budget is used up"],
  withheld: ["■", "Withheld", "no number could be given"],
  aborted: ["▲", "Aborted", "latched until a plan with another id"],
};

// The token stays as long as the tab, and goes nowhere but to the process.
const tokenKey = "otelprof.token";

/** statusBar makes the line. Its elements stay, so that focus does too. */
export function statusBar(context) {
  const sign = h("span", { class: "state" });
  const reason = h("span", { class: "reason" });
  const stop = button("Stop all experiments", { class: "stop", onclick: () => send("DELETE") });
  const answer = h("p", { class: "note", role: "status", tabindex: "-1" });
  const token = h("input", { type: "password", autocomplete: "off", "aria-label": "Token", placeholder: "Token of the viewer" });
  token.value = sessionStorage.getItem(tokenKey) ?? "";
  let wanted = () => send("DELETE");
  const ask = h("form", { class: "token", hidden: true, onsubmit: (e) => { e.preventDefault(); wanted(); } },
    token, h("button", { type: "submit" }, "Go on with this token"));
  const editor = planEditor((document) => send("PUT", document));
  const limits = h("dl", { class: "plan-facts gauges" });
  const story = h("tbody");
  const lost = h("p", { class: "bad", hidden: true });
  const history = h("details", { class: "experiment audit" }, h("summary", {}, "What has happened"),
    h("div", { class: "scroll" }, h("table", {}, tableHead(["Time", "What", "Who asked"]), story)), lost);
  const facts = {};
  const list = h("dl", { class: "plan-facts" });
  for (const label of ["Recordings", "Experiment", "Measured", "Waits seen by", "Plan", "Expires", "Lease", "Source", "No answer", "Not inserted"]) {
    const value = h("dd");
    facts[label] = { row: h("div", {}, h("dt", {}, label), value), value };
    list.append(facts[label].row);
  }
  const rejected = h("p", { class: "bad", hidden: true });
  const el = h("section", { class: "plan-status", "aria-label": "Plan" },
    h("div", { class: "plan-line" }, sign, reason, stop), ask, answer, rejected, limits, list, editor.el, history);

  const send = once(async (method, body) => {
    try {
      const headers = token.value ? { Authorization: `Bearer ${token.value}` } : {};
      const now = await request("causal/plan", { method, headers, body });
      if (token.value) sessionStorage.setItem(tokenKey, token.value);
      ask.hidden = true;
      if (method === "PUT") editor.el.open = false;
      render(now, profile); // at once, and not with the next look
      setText(answer, method === "PUT" ? "The plan was accepted." : "Stopped.");
      answer.focus(); // its button is gone
      context.refresh();
    } catch (err) {
      const wantsToken = err instanceof ApiError && err.status === 401;
      if (wantsToken) {
        sessionStorage.removeItem(tokenKey);
        wanted = method === "PUT" ? editor.sendOff : () => send(method);
        ask.hidden = false;
        token.focus();
      }
      const failed = method === "PUT" ? "The plan was not applied" : "Not stopped";
      setText(answer, wantsToken && !token.value ? "This needs the token that the application was given."
        : wantsToken ? "That is not the token." : `${failed}: ${err.message}`);
    }
  });

  function eventRow() {
    const cells = [0, 1, 2].map(() => h("td", { class: "text" }));
    return {
      el: h("tr", {}, cells),
      update(e) {
        setText(cells[0], clock(e.time));
        setAttr(cells[0], "title", dateTime(e.time));
        setText(cells[1], eventText(e));
        setAttr(cells[1], "class", isBad(e) ? "text bad" : "text");
        setText(cells[2], whoText(e));
      },
    };
  }

  const show = (label, text, title = null) => {
    facts[label].row.hidden = !text;
    setText(facts[label].value, text);
    setAttr(facts[label].value, "title", title);
  };

  function gauge() {
    const fill = h("span", { class: "meter-fill" });
    const meter = h("span", { class: "meter", "aria-hidden": "true" }, fill);
    const [label, text] = [h("dt"), h("span")];
    return {
      el: h("div", {}, label, h("dd", {}, meter, text)),
      update(g) {
        setText(label, g.label);
        setText(text, g.text);
        meter.hidden = Number.isNaN(g.part);
        setAttr(meter, "data-level", levelOf(g.part));
        fill.style.setProperty("width", `${Math.min(100, 100 * (g.part || 0))}%`);
      },
    };
  }

  let profile = { curves: [] };
  let answered = ""; // the plan that the answer is about
  function render({ plan, status, replaceable }, latest) {
    profile = latest;
    const current = JSON.stringify([plan?.id, plan?.generation, status.plan_hash, status.state]);
    if (current !== answered) {
      setText(answer, "");
      ask.hidden = true;
    }
    answered = current;
    const [mark, word, meaning] = states[status.state] ?? ["○", status.state || "Unknown", ""];
    setText(sign, `${mark} ${status.enabled ? word : "Experiments off"}`);
    setAttr(sign, "data-state", status.enabled ? status.state : "idle");
    setText(reason, status.reason || (status.enabled ? meaning : "the application has not opted in to experiments"));
    setAttr(reason, "title", status.since && new Date(status.since).getTime() > 0 ? `since ${dateTime(status.since)}` : null);
    stop.hidden = isSaved() || !["running", "waiting"].includes(status.state);
    show("Recordings", recordingText(status.recording));
    show("Experiment", status.experiment || (status.state === "running" ? "between two" : ""));
    keyed(limits, plan ? gauges(status) : [], (g) => g.label, gauge);
    show("Measured", profile.experiments ? `${plural(profile.experiments, "experiment")} in ${plural(profile.iterations, "round")}` : "");
    show("Waits seen by", plan?.mode === "overlap" ? handoverText(status.handover) : "");
    show("Plan", plan ? `${plan.id}${plan.author ? ` by ${plan.author}` : ""}${plan.reason ? `: ${plan.reason}` : ""}` : "", status.plan_hash ? `SHA-256 ${status.plan_hash}` : null);
    const end = plan && endOf(plan, status);
    show("Expires", plan ? `${clock(end)}, ${until(end)}` : "", plan ? dateTime(end) : null);
    show("Lease", status.lease_ends ? `ends ${until(status.lease_ends)} if the source does not answer` : "");
    show("Source", status.source ?? "");
    const silent = (status.sources ?? []).filter((s) => s.missed);
    show("No answer", silent.map((s) => `from ${s.name}, ${plural(s.missed, "time")} since ${clock(s.since)}: ${s.error}`).join("; "), "Sources of plans that do not answer, and why");
    show("Not inserted", Object.entries(status.withheld ?? {}).map(([rule, n]) => `${count(n)} by ${rule}`).join(", "), "Delays owed and not inserted, by the rule that forbade them");
    setText(rejected, status.last_error ? `The last plan document was rejected: ${status.last_error}` : "");
    rejected.hidden = !status.last_error;
    const events = newestFirst(status);
    history.hidden = events.length === 0;
    keyed(story, events, (e) => `${e.time} ${e.kind} ${e.plan_hash ?? e.message}`, eventRow);
    setText(lost, status.audit_dropped ? `${count(status.audit_dropped)} events are missing in the log` : "");
    lost.hidden = !status.audit_dropped;
  }

  return { el, render, editor };
}

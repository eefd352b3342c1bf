// The line about the plan in force, and the button that stops it.

import { ApiError, request } from "./api.mjs";
import { button, h, setAttr, setText } from "./dom.mjs";
import { clock, count, dateTime, duration, parseDuration, percent, plural, until } from "./format.mjs";

const states = {
  idle: ["○", "Idle", "no plan"],
  waiting: ["◔", "Waiting", "the plan's time has not come"],
  running: ["▶", "Running", "experiments run, delays may be inserted"],
  stopped: ["■", "Stopped", ""],
  expired: ["■", "Expired", "the plan's time is over"],
  spent: ["■", "Spent", "the budget is used up"],
  aborted: ["▲", "Aborted", "latched until a plan with another id"],
};

/** statusBar makes the line. Its elements stay, so that focus does too. */
export function statusBar(context) {
  const sign = h("span", { class: "state" });
  const reason = h("span", { class: "reason" });
  const stop = button("Stop all experiments", { class: "stop", onclick: () => send() });
  const answer = h("p", { class: "note", role: "status" });
  const token = h("input", { type: "password", autocomplete: "off", "aria-label": "Token", placeholder: "Token of the viewer" });
  const ask = h("form", { class: "token", hidden: true, onsubmit: (e) => { e.preventDefault(); send(); } },
    token, h("button", { type: "submit" }, "Stop with this token"));
  const facts = {};
  const list = h("dl", { class: "plan-facts" });
  for (const label of ["Experiment", "Spent", "Measured", "Plan", "Expires", "Source", "Not inserted"]) {
    const value = h("dd");
    facts[label] = { row: h("div", {}, h("dt", {}, label), value), value };
    list.append(facts[label].row);
  }
  const fill = h("span", { class: "meter-fill" });
  const spent = h("span");
  facts.Spent.value.append(h("span", { class: "meter", "aria-hidden": "true" }, fill), spent);
  const rejected = h("p", { class: "bad", hidden: true });
  const el = h("section", { class: "plan-status", "aria-label": "Plan" },
    h("div", { class: "plan-line" }, sign, reason, stop), ask, answer, rejected, list);

  async function send() {
    stop.disabled = true;
    try {
      const headers = token.value ? { Authorization: `Bearer ${token.value}` } : {};
      await request("causal/plan", { method: "DELETE", headers });
      setText(answer, "");
      ask.hidden = true;
      context.refresh();
    } catch (err) {
      const wantsToken = err instanceof ApiError && err.status === 401;
      if (wantsToken) {
        ask.hidden = false;
        token.focus();
      }
      setText(answer, wantsToken && !token.value ? "Stopping needs the token that the application was given."
        : wantsToken ? "That is not the token." : `Not stopped: ${err.message}`);
    }
    stop.disabled = false;
  }

  const show = (label, text, title = null) => {
    facts[label].row.hidden = !text;
    setText(facts[label].value, text);
    setAttr(facts[label].value, "title", title);
  };

  return {
    el,
    render({ plan, status }, profile) {
      const [mark, word, meaning] = states[status.state] ?? ["○", status.state || "Unknown", ""];
      setText(sign, `${mark} ${status.enabled ? word : "Off"}`);
      setAttr(sign, "data-state", status.enabled ? status.state : "idle");
      setText(reason, status.reason || (status.enabled ? meaning : "the application has not opted in to experiments"));
      setAttr(reason, "title", status.since && new Date(status.since).getTime() > 0 ? `since ${dateTime(status.since)}` : null);
      stop.hidden = !["running", "waiting"].includes(status.state);
      if (stop.hidden) ask.hidden = true;
      show("Experiment", status.experiment || (status.state === "running" ? "between two" : ""));
      const budget = parseDuration(status.limits?.total);
      facts.Spent.row.hidden = !plan;
      fill.style.setProperty("width", `${budget > 0 ? Math.min(100, (100 * status.spent_ns) / budget) : 0}%`);
      setText(spent, budget > 0 ? `${duration(status.spent_ns)} of ${duration(budget)} (${percent(status.spent_ns / budget)})` : duration(status.spent_ns));
      show("Measured", profile.experiments ? `${plural(profile.experiments, "experiment")}, ${count(profile.rejected)} rejected, ${plural(profile.iterations, "iteration")}` : "");
      show("Plan", plan ? `${plan.id}${plan.author ? ` by ${plan.author}` : ""}${plan.reason ? `: ${plan.reason}` : ""}` : "", status.plan_hash ? `SHA-256 ${status.plan_hash}` : null);
      show("Expires", plan ? `${clock(plan.expires_at)}, ${until(plan.expires_at)}` : "", plan ? dateTime(plan.expires_at) : null);
      show("Source", status.source ?? "");
      show("Not inserted", Object.entries(status.withheld ?? {}).map(([rule, n]) => `${count(n)} by ${rule}`).join(", "), "Delays owed and not inserted, by the rule that forbade them");
      setText(rejected, status.last_error ? `The last plan document was rejected: ${status.last_error}` : "");
      rejected.hidden = !status.last_error;
    },
  };
}

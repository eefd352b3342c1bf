// The frame around the views: routes, live updates and the keyboard.

import { ApiError, isFile, Poller } from "./api.mjs";
import { causalView } from "./causal.mjs";
import { isSaved, setAttr, setText } from "./dom.mjs";
import { clock, dateTime } from "./format.mjs";
import { goroutinesView } from "./goroutines.mjs";
import { bindKeys } from "./keys.mjs";
import { overviewView } from "./overview.mjs";
import { regionsView } from "./regions.mjs";
import { parseRoute } from "./route.mjs";
import { runsView } from "./runs.mjs";
import { sessionView } from "./session.mjs";
import { sessionsView } from "./sessions.mjs";
import { stacksView } from "./stacks.mjs";

const main = document.getElementById("main");
const live = document.getElementById("live");
const banner = document.getElementById("banner");
const pause = document.getElementById("pause");
const title = document.title;

let view = null;
let poller = null;
let paused = false;
let answered = null; // when the process last answered

/** shownIn is which link of the bar a view belongs to. */
function shownIn(make, name) {
  if (make === overviewView) return "overview";
  return make === goroutinesView ? "stacks" : name;
}

function open() {
  const route = parseRoute(location.hash);
  poller?.stop();
  view?.close?.();
  const context = {
    id: route.id,
    query: route.query,
    hasCausal: document.body.dataset.causal === "true",
    refresh: () => poller.start(),
    // remember keeps what the user chose in the address, for links and going back.
    remember(values) {
      for (const [k, v] of Object.entries(values)) {
        if (v === "" || v === null || v === false) route.query.delete(k);
        else route.query.set(k, v === true ? "1" : v);
      }
      const query = route.query.toString();
      history.replaceState(null, "", `#/${route.path}${query ? `?${query}` : ""}`);
    },
  };
  const make = route.name === "sessions" ? (route.id ? sessionView : sessionsView)
    : route.name === "regions" ? regionsView
    : route.name === "compare" ? runsView
    : route.name === "causal" ? causalView
    : route.name === "stacks" ? stacksView
    : route.name === "goroutines" ? goroutinesView : overviewView;
  view = make(context);
  document.title = `${view.title} · ${title}`;
  for (const link of document.querySelectorAll("nav [data-view]")) {
    setAttr(link, "aria-current", link.dataset.view === shownIn(make, route.name) ? "page" : null);
  }
  main.replaceChildren(view.el);
  banner.hidden = true;
  window.scrollTo(0, 0);
  poller = new Poller({ load: (signal) => view.load(signal), done, failed, once: isSaved() || view.once });
  poller.paused = paused;
  poller.start();
}

function done(data) {
  showAnswered(new Date());
  banner.hidden = true;
  view.render(data);
}

function showAnswered(at) {
  answered = at;
  if (answered) setText(live, isSaved() ? "Saved data" : `${paused ? "Paused" : "Live"} · ${clock(answered)}`);
  setAttr(live, "data-state", isSaved() ? "saved" : paused ? "paused" : "live");
}

function failed(err, drawing) {
  if (drawing) {
    setText(banner, `This page cannot draw the answer: ${err.message}`);
    banner.hidden = false;
    return;
  }
  if (err instanceof ApiError) { // it is there, and says no
    showAnswered(new Date());
    setText(banner, `The process answered with an error: ${err.message}`);
    banner.hidden = Boolean(view.refused?.(err));
    return;
  }
  setText(banner, answered
    ? `The process has not answered since ${clock(answered)}. What you see is from then; trying again every 2 s.`
    : "The process does not answer. Trying again every 2 s.");
  banner.hidden = false;
  setText(live, answered ? `Lost · last ${clock(answered)}` : "No answer");
  setAttr(live, "data-state", "lost");
}

function setPaused(value) {
  paused = value;
  setText(pause, paused ? "Resume" : "Pause");
  setAttr(pause, "aria-pressed", String(paused));
  showAnswered(answered);
  poller.pause(paused);
}

document.getElementById("onefile").parentElement.hidden = isFile();
pause.addEventListener("click", () => setPaused(!paused));
document.getElementById("skip").addEventListener("click", () => main.focus());
bindKeys({ view: () => view, togglePause: () => pause.hidden || setPaused(!paused) });
// On paper nothing can be clicked: what it shows and where it is from stand there once.
window.addEventListener("beforeprint", () => {
  setText(document.getElementById("printed"), `${view.title} of ${document.body.dataset.service || "this process"} · ${answered && !isSaved() ? "as of" : "printed"} ${dateTime(answered ?? new Date()).slice(0, 19)} · ${location.href}`);
});
window.addEventListener("hashchange", () => {
  open();
  if (document.activeElement === document.body) main.focus({ preventScroll: true }); // what had the focus is gone
});
open();

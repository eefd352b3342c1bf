// A thousand samples a second of the whole process, asked for from the page.

import { ApiError, request } from "./api.mjs";
import { button, h, once, setText } from "./dom.mjs";

const seconds = 5;

/**
 * highRate makes the button that has samples taken, and what it says meanwhile. taken() is called when they are there;
 * close() stops what has begun.
 */
export function highRate(taken) {
  const stop = new AbortController();
  const said = h("p", { class: "flame-notice", role: "status", hidden: true });
  const el = button("1,000 samples a second", { title: `Samples the whole process for ${seconds} s, once for each millisecond of processor time`, onclick: once(take) });

  function say(text) {
    setText(said, text);
    said.hidden = text === "";
  }

  async function take() {
    say(`Sampling the whole process for ${seconds} s …`);
    try {
      await request(`stacks/highrate?seconds=${seconds}`, { method: "POST", signal: stop.signal, timeout: 1000 * (seconds + 15) });
      say("");
      taken();
    } catch (err) {
      if (!stop.signal.aborted) say(whyNot(err));
    }
  }

  return { el, said, close: () => stop.abort() };
}

/** whyNot says why there are no samples, and what to do. */
function whyNot(err) {
  if (!(err instanceof ApiError)) return "The process did not answer. Try again.";
  const why = `No samples at 1,000 a second: ${err.message}.`;
  return err.status === 409 ? why : `${why} “otelprof doctor” on that machine says what would permit them. Those at 100 a second go on.`;
}

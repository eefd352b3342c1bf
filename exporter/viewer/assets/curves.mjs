// The causal profile as plots, tables and sentences. No access to the page.

/** gainOf turns a reduced period into a raised throughput; null beyond all bounds. */
export function gainOf(reduction) {
  return reduction < 1 ? 1 / (1 - reduction) - 1 : null;
}

/** plotsOf returns one plot for each progress point, in the order of the profile. */
export function plotsOf(profile) {
  const plots = new Map();
  for (const curve of profile.curves) {
    const plot = plots.get(curve.progress) ?? { progress: curve.progress, basePeriodNs: 0, curves: [] };
    plot.basePeriodNs ||= curve.base_period_ns;
    plot.curves.push({
      scope: curve.region.scope,
      name: curve.region.span,
      points: (curve.effects ?? []).map(pointOf),
    });
    plots.set(curve.progress, plot);
  }
  for (const plot of plots.values()) label(plot.curves);
  return [...plots.values()];
}

function pointOf(e) {
  return {
    speedup: e.speedup,
    gain: e.throughput_gain,
    lo: gainOf(e.lo),
    hi: gainOf(e.hi),
    samples: e.samples,
    outliers: e.outliers,
    withheld: e.withheld ?? "",
    warnings: e.warnings ?? [],
  };
}

/** label adds the scope to span names that two regions share. */
function label(curves) {
  const seen = new Map();
  for (const c of curves) seen.set(c.name, (seen.get(c.name) ?? 0) + 1);
  for (const c of curves) c.label = seen.get(c.name) > 1 && c.scope ? `${c.name} (${c.scope})` : c.name;
}

/** measured returns the points that have a number. */
export function measured(curve) {
  return curve.points.filter((p) => !p.withheld && p.speedup > 0);
}

/** verdict says whether an effect differs from none: "helps", "harms" or "unclear". */
export function verdict(point) {
  if (point.lo !== null && point.lo > 0) return "helps";
  if (point.hi !== null && point.hi < 0) return "harms";
  return "unclear";
}

/** typical returns the point at the largest measured speed-up of at most a half, which is what hard work may reach. */
export function typical(curve) {
  const points = measured(curve);
  return points.filter((p) => p.speedup <= 0.5).at(-1) ?? points[0];
}

/**
 * bets ranks the regions of a plot by what speeding them up would bring, at the typical
 * speed-up: the certain ones first.
 */
export function bets(plot) {
  const order = { helps: 0, unclear: 1, harms: 2 };
  return plot.curves
    .map((curve) => ({ curve, point: typical(curve) }))
    .filter((bet) => bet.point)
    .map((bet) => ({ ...bet, verdict: verdict(bet.point) }))
    .sort((a, b) => order[a.verdict] - order[b.verdict] || b.point.gain - a.point.gain);
}

/** bestBet returns the strongest certain gain of a profile and its progress point, or null. */
export function bestBet(profile) {
  let best = null;
  for (const plot of plotsOf(profile)) {
    const first = bets(plot)[0];
    if (first?.verdict === "helps" && (!best || first.point.gain > best.point.gain)) {
      best = { ...first, progress: plot.progress };
    }
  }
  return best;
}

/** bounds returns the plot's x and y ranges, zero included in both. */
export function bounds(plot) {
  let x = 0;
  let [lo, hi] = [0, 0];
  for (const curve of plot.curves) {
    for (const p of measured(curve)) {
      x = Math.max(x, p.speedup);
      lo = Math.min(lo, p.gain, p.lo ?? p.gain);
      // An interval without an upper end must not press all curves flat.
      hi = Math.max(hi, p.gain, Math.min(p.hi ?? Infinity, 3 * Math.max(p.gain, 0.05)));
    }
  }
  if (hi - lo < 0.02) hi = lo + 0.02;
  return { x: Math.max(x, 0.1), lo, hi };
}

/** whyEmpty says in sentences why there is no number yet, and what to do. */
export function whyEmpty(status, profile) {
  const plan = status.plan;
  const out = [];
  if (!status.enabled) {
    out.push("The application has not opted in to experiments, so no plan can run. It does so with the option WithExperiments, in which it also says what they may cost at most.");
  }
  switch (status.state) {
    case "idle":
      out.push("No plan is in force. Experiments begin when one is applied: by the plan file, by the API, or by a remote source.");
      break;
    case "waiting":
      out.push(plan?.not_before ? "A plan is in force and its time has not come." : "A plan is in force and waits to begin.");
      break;
    case "running":
      out.push("Experiments are running. The first numbers come when every speed-up was measured often enough for an interval.");
      break;
    case "stopped":
      out.push("The plan was stopped before there were numbers. Apply it again with a higher generation.");
      break;
    case "expired":
      out.push("The plan expired before there were numbers. Apply one with a later expires_at.");
      break;
    case "spent":
      out.push("The plan used up its budget before there were numbers. Raise limits.total, or choose fewer regions.");
      break;
    case "aborted":
      out.push("The breaker opened before there were numbers. Only a plan with another id runs now.");
      break;
  }
  if (status.last_error) out.push(`The last plan document was rejected: ${status.last_error}`);
  return [...out, ...(profile.notes ?? [])];
}

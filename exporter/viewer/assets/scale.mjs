// Axes. No access to the page.

/** ticks returns round values in [lo, hi], about n of them, lo < hi. */
export function ticks(lo, hi, n) {
  if (!(hi > lo) || !(n > 0)) return [lo];
  const rough = (hi - lo) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.999) ?? 10);
  const out = [];
  // Multiples of the step, and not sums, so that zero is exactly zero.
  for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++) out.push(i === 0 ? 0 : i * step);
  return out;
}

/** linear returns the function that takes [a, b] to [from, to]. */
export function linear(a, b, from, to) {
  const slope = b === a ? 0 : (to - from) / (b - a);
  return (v) => from + (v - a) * slope;
}

/**
 * spread moves positions apart until each is gap from the next, in the order given by
 * their size and inside [lo, hi] where there is room.
 */
export function spread(positions, gap, lo, hi) {
  const order = positions.map((p, i) => [p, i]).sort((a, b) => a[0] - b[0]);
  const out = new Array(positions.length);
  let next = lo;
  for (const entry of order) {
    entry[0] = Math.max(entry[0], next);
    next = entry[0] + gap;
  }
  let limit = hi;
  for (const entry of order.reverse()) {
    entry[0] = Math.min(entry[0], limit);
    limit = entry[0] - gap;
    out[entry[1]] = entry[0];
  }
  return out;
}

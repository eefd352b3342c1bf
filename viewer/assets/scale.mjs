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

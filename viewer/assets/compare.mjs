// Comparing two windows of time of one region. No access to the page.
//
// A reading is what the API says of a region at one moment, with all that was recorded since the
// start. A window is what was recorded between two readings.

/** idOf names a region in all readings. */
export const idOf = (r) => `${r.scope}\u0000${r.scope_version ?? ""}\u0000${r.name}\u0000${r.scope_schema_url ?? ""}`;

/** comparedRanks are the percentiles that are compared. */
export const comparedRanks = [50, 90, 99];

/**
 * windowOf returns what was recorded from one reading to the next; from is null for the start of
 * the process. It is null if the process, and with it the counting, has begun anew between them.
 */
export function windowOf(from, to) {
  const earlier = new Map(from?.cumulative.buckets.map(([low, , n]) => [low, n]));
  const buckets = [];
  for (const [low, high, n] of to.cumulative.buckets) {
    const more = n - (earlier.get(low) ?? 0);
    earlier.delete(low);
    if (more < 0) return null;
    if (more > 0) buckets.push([low, high, more]);
  }
  if (earlier.size > 0) return null;
  return {
    count: buckets.reduce((sum, [, , n]) => sum + n, 0),
    errors: to.errors - (from?.errors ?? 0),
    sumNs: to.cumulative.sum_ns - (from?.cumulative.sum_ns ?? 0),
    // Extremes of all time that are not in the window are as near as its buckets allow.
    min: clamp(to.min_ns, buckets[0]),
    max: clamp(to.max_ns, buckets.at(-1)),
    buckets,
  };
}

/** binsOf sums the buckets of a window into bins to draw, four from a power of two to the next, as the API's are. */
export function binsOf(w) {
  const low = (i) => (i < 8 ? i : (4 + (i % 4)) * 2 ** (Math.floor(i / 4) - 1));
  const bins = [];
  for (const [from, , n] of w.buckets) {
    const shift = Math.max(0, Math.floor(Math.log2(Math.max(from, 1))) - 2);
    const i = 4 * shift + Math.floor(from / 2 ** shift);
    for (let k = bins.length ? bins.at(-1).i + 1 : i; k <= i; k++) bins.push({ i: k, low_ns: low(k), high_ns: low(k + 1) - 1, count: 0 });
    bins.at(-1).count += n;
  }
  return bins;
}

const clamp = (v, bucket) => (bucket ? Math.min(Math.max(v, bucket[0]), bucket[1]) : 0);

/** middle is the value that stands for all of a bucket. */
function middle([low, high], w) {
  return Math.min(Math.max(low + Math.ceil((high - low) / 2), w.min), w.max);
}

/** figuresOf returns count, errors, mean, standard deviation and the percentiles of a window. */
export function figuresOf(w) {
  const mean = w.count > 0 ? w.sumNs / w.count : 0;
  const squares = w.buckets.reduce((sum, b) => sum + b[2] * (middle(b, w) - mean) ** 2, 0);
  return {
    count: w.count, errors: w.errors, mean,
    deviation: w.count > 0 ? Math.sqrt(squares / w.count) : 0,
    percentiles: comparedRanks.map((p) => percentileOf(w, p)),
  };
}

function percentileOf(w, percent) {
  let rank = Math.max(1, Math.ceil((w.count * percent) / 100));
  for (const b of w.buckets) {
    rank -= b[2];
    if (rank <= 0) return middle(b, w);
  }
  return 0;
}

/**
 * effectOf is Cohen's d, the difference of two means in pooled standard deviations: negative if
 * the later window is faster, infinite if neither scatters, NaN for too few values.
 */
export function effectOf(before, after) {
  const [n, m] = [before.count, after.count];
  if (n === 0 || m === 0 || n + m < 3) return NaN;
  const difference = after.mean - before.mean;
  if (difference === 0) return 0;
  return difference / Math.sqrt((n * before.deviation ** 2 + m * after.deviation ** 2) / (n + m - 2));
}

/** effectWords says how large a Cohen's d is, by Cohen's own scale and to the two digits shown. */
export function effectWords({ d, clear }) {
  if (Number.isNaN(d)) return "too few to tell";
  const size = Math.round(100 * Math.abs(d)) / 100;
  const word = size < 0.2 ? "negligible" : size < 0.5 ? "small" : size < 0.8 ? "medium" : "large";
  return size < 0.2 ? word : `${word}, ${d < 0 ? "faster" : "slower"}${clear ? "" : ", perhaps by chance"}`;
}

/** isClear reports whether Cohen's d is at least small, and further from zero than chance takes it (95 %). */
function isClear(d, n, m) {
  return Math.abs(d) >= 0.2 && (!Number.isFinite(d) || Math.abs(d) > 1.96 * Math.sqrt((n + m) / (n * m) + d ** 2 / (2 * (n + m))));
}

/** relativeChange is the change from a to b as a part of a, NaN from zero to something. */
export function relativeChange(a, b) {
  if (a === b) return 0;
  return a === 0 ? NaN : (b - a) / a;
}

/**
 * changesOf returns the relative changes of percentiles and mean from one window to another, and
 * within where rounding alone can make them. They are NaN where a window is empty.
 */
export function changesOf(before, after, relativeError) {
  const known = before.count > 0 && after.count > 0;
  const of = (a, b, error) => {
    const part = known ? relativeChange(a, b) : NaN;
    return { part, within: Math.abs(part) <= 2 * error };
  };
  const d = effectOf(before, after);
  return {
    percentiles: comparedRanks.map((_, i) => of(before.percentiles[i], after.percentiles[i], relativeError)),
    mean: of(before.mean, after.mean, 0), d, clear: isClear(d, before.count, after.count),
  };
}

/**
 * meanChange is how the mean duration changed from the window before a mark to that since, by
 * counts and totals alone; undefined where one of the two is empty, or the counting began anew.
 */
export function meanChange(start, mark, now) {
  const mean = (from, to) => (to.total_ns - (from?.total_ns ?? 0)) / (to.count - (from?.count ?? 0));
  if (!mark || now.count <= mark.count || now.total_ns < mark.total_ns || mark.count <= (start?.count ?? 0)) return undefined;
  return relativeChange(mean(start, mark), mean(mark, now));
}

// Package otelhdr counts uint64 values in histograms of high dynamic range: any percentile of any values, from 0 to
// 2^64-1, within a relative error chosen beforehand, at a few nanoseconds a record.
//
// # Which one
//
// A [Histogram] is for one goroutine at a time, a [Concurrent] for any number; a [Recorder] lets one of these record into
// a Concurrent at the cost of a Histogram. None blocks, fails or panics while recording. All are read through a
// [Snapshot], which holds the count, the exact sum and extremes, and percentiles, and which a reader reuses so that
// reading allocates nothing. Snapshots are merged, subtracted and corrected for coordinated omission. Values have
// whatever unit they are recorded in; a [Scope] records how long something takes in a unit of choice.
//
// A [Summary] has the figures of a snapshot that describe it at a glance, as a table, in one line, or beside another in a
// [Diff]. [Monitor] prints one a second. Package hdrlog reads and writes the files of HdrHistogram.
//
// # Layout
//
// With 2^s the block size, the values below 2^(s+1) have a bucket each. From there every octave is a block of 2^s
// buckets of equal width, so that the width doubles from octave to octave. For a block size of 8:
//
//	values      0   1   2  …  15   16-17  18-19  …  30-31   32-35  36-39  …  60-63   64-71  …
//	buckets     0   1   2  …  15    16     17    …   23      24     25    …   31      32    …
//	width       1 ───────────────   2 ───────────────────   4 ───────────────────    8 ──
//
// A value v drops its low bits until s+1 are left, and the number of bits dropped chooses the block:
//
//	step  = bits.Len64(v | 1<<s) - (s+1)
//	index = step<<s + v>>step
//
// The middle of a bucket of width w is at most w/2 from its values, the smallest of which is at least w × 2^s: the
// relative error is 0.5/2^s. The default, asked for as 0.001, has s = 9 and an error of 0.098 %.
//
// # Memory
//
// Counters are 64 bits wide, or become so in time, so that they never overflow. They are allocated in chunks of 256: a
// Concurrent has those that a value has fallen into, a Histogram all from the lowest of them to the highest, side by
// side, which is faster. At 0.1 % an idle Concurrent is 1.2 KB, one of latencies from 100 µs to 10 ms about 30 KB, and
// one that has seen the whole range 230 KB; at 1 % these are 0.4, 6 and 31 KB. The finest error, 1e-6, takes 0.75 MB
// idle over the whole range, which [WithRange] reduces. A Concurrent has these once for every set of counters that
// contention made it add, and for every Recorder. [WithCounter32] halves them. SizeBytes reports what is held.
//
// # Out of range
//
// With [WithRange] there are values without a bucket. They are counted, belong to the count, the sum, the extremes and
// the ranks, and are two buckets more, one at each end; but for a percentile among them only the minimum or the maximum
// can be given.
//
// # OpenTelemetry
//
// [WrapMeterProvider] has the histogram instruments of a MeterProvider record into a [Concurrent] for each set of
// attributes, and a [Producer] for each reader exports them: as exponential histograms of a fixed scale by default. The
// rest of the provider stays as it is. [Snapshot.Exponential] makes a data point of a histogram of one's own.
package otelhdr

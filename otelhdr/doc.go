// Package otelhdr counts uint64 values in histograms of high dynamic range: any percentile of any
// values, from 0 to 2^64-1, within a relative error chosen beforehand, at a few nanoseconds a
// record.
//
// # Which one
//
// A [Histogram] is for one goroutine at a time, a [Concurrent] for any number; a [Recorder] lets
// one of these record into a Concurrent at the cost of a Histogram. None blocks, fails or panics
// while recording. All are read through a [Snapshot], which holds the count, the exact sum and
// extremes, and percentiles, and which a reader reuses so that reading allocates nothing. Snapshots
// are merged, subtracted and corrected for coordinated omission. Values have whatever unit they are
// recorded in; a [Scope] records how long something takes in a unit of choice.
//
// A [Summary] has the figures of a snapshot that describe it at a glance, as a table, in one line,
// or beside another in a [Diff]. [Monitor] prints one a second. Package hdrlog reads and writes the
// files of HdrHistogram.
//
// # Layout
//
// With 2^s the block size, the values below 2^(s+1) have a bucket each. From there every octave is
// a block of 2^s buckets of equal width, so that the width doubles from octave to octave. For a
// block size of 8:
//
//	values      0   1   2  …  15   16-17  18-19  …  30-31   32-35  36-39  …  60-63   64-71  …
//	buckets     0   1   2  …  15    16     17    …   23      24     25    …   31      32    …
//	width       1 ───────────────   2 ───────────────────   4 ───────────────────    8 ──
//
// A value v drops its low bits until s+1 are left, and the number of bits dropped chooses the
// block:
//
//	step  = bits.Len64(v | 1<<s) - (s+1)
//	index = step<<s + v>>step
//
// The middle of a bucket of width w is at most w/2 from its values, the smallest of which is at
// least w × 2^s: the relative error is 0.5/2^s. The default, asked for as 0.001, has s = 9 and an
// error of 0.098 %.
//
// # Memory
//
// A Histogram has counters of 64 bits for all buckets from that of the lowest value to that of the
// highest, rounded to chunks of 256, which is fastest: 30 KB for latencies from 100 µs to 10 ms at
// 0.1 %, and 230 KB for the whole range. [WithCounter32] halves that. A Concurrent has counters for
// those pages of 64 buckets that a value has fallen into, of 1, 2, 4 … or 64 bits, as many as the
// greatest of a page needs. Of log-normal latencies that spread over five octaves it takes
//
//	values          0    10,000    1,000,000    10,000,000
//	at 0.1 %   0.4 KB    2.2 KB       5.8 KB        7.2 KB
//	at 1 %     0.4 KB    0.8 KB       1.4 KB        1.6 KB
//
// once it was read; until then pages that wider ones have taken the place of are still there, about
// as much again. It has that once for every set of counters that contention made it add, and as
// much as a Histogram for every Recorder. SizeBytes reports what is held.
//
// # Out of range
//
// With [WithRange] there are values without a bucket. They are counted, belong to the count, the
// sum, the extremes and the ranks, and are two buckets more, one at each end; but for a percentile
// among them only the minimum or the maximum can be given.
//
// # OpenTelemetry
//
// Package hdrmetric has the histogram instruments of a MeterProvider record into a [Concurrent] for
// each set of attributes. [Snapshot.Exponential] makes a data point of a histogram of one's own.
package otelhdr

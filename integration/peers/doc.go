// Command peers measures what a wrapped span costs beside the SDK's own span and beside
// another wrapper, and a record of a wrapped histogram beside the SDK's, and prints one line
// for each figure:
//
//	ratio span_full ours=1313 peer=989 peer_name=otel-sdk x=0.75 delta_ns=+324 ...
//
// All costs are per span, start and end, each the median over the rounds:
//
//	ours, peer       nanoseconds
//	x                peer/ours, so above 1 where ours is cheaper
//	delta_…          ours - peer: nanoseconds, allocations, bytes allocated
//	x_lo, x_hi       first and third quartile of x over the rounds
//	clock            "cpu", or "caller"; see below
//	busy             part of the processors' time that our side got
//	dropped          part of our sessions that were lost for lack of room
//	kept             part of them that a record was made of; the store in memory wants a
//	                 hundred or so a second, and span_full_keepall has one that wants all
//	target, holds    what we promise, and whether the figure keeps it. Allocations are
//	                 promised in whole ones, so up to half of one more is allowed for what
//	                 the spans of a trace share; with more than 1 % dropped nothing holds
//
// x and delta_… are medians of what each round gave, not quotients of the medians: the two
// sides of a round run one after the other, in alternating order, so a disturbance of the
// machine meets both or one round only.
//
// An operation is a trace of spans_per_session spans: a root and its children, one after the
// other. With 1, every span is a root and a session of its own. The provider beneath is the
// SDK's with a processor that drops everything.
//
// With clock=cpu the time is the processor time of the whole process divided by GOMAXPROCS.
// On an idle machine that is the wall time, divided by the spans of all goroutines as testing.B's
// RunParallel counts; on a busy one it leaves out what other programs took, though not what
// they did to the caches. Nothing is left out on our side: the worker that turns sessions into
// records is in it, and each round waits for it. With clock=caller one goroutine has two
// processors, and the time is the wall time for which it was held up; that is right only
// where nothing else runs. Allocations and bytes are those of the whole process in either case.
//
// The figures named otel_record are not about spans: their operation is one Record of a
// histogram, through OpenTelemetry's API, with the same call on both sides.
//
// The figures named pmu_ are about counters. The operation of pmu_read_group4 is one reading of
// four events that the kernel counts; the others are spans with a hook that is asked and declines,
// and with one that counts in every span: in pmu_hook_fallback without a PMU, in pmu_hook_sampled
// with one.
//
// The figures named stacks_ are about call stacks: spans that label their goroutine, a program that
// is sampled at 100 Hz, and merging of 15,620 samples, 64 times of which are a million.
//
// The figures named runtime_ are about programs of otelprof build: runtime_idle beside those of go
// build, and runtime_times with and without times of spans.
//
// The figures named replay_idle_ are about spans, a lock and a channel of a program that is
// recorded now and then, between two recordings; peer is one that never is. Those named
// replay_recording_ have another form: x is the throughput of a saturated service, for each second
// of processor time, while a recording is made beside that without, and of a minute with one
// recording and its analysis beside that of one without; x_wall is the same for each second that
// passes. replay_analysis is about the trace of a service with 16 regions, as large as one of a
// million events where an arm takes 100 ms: seconds of processor time, and mib that the heap has
// more at most, for each million events, to read it and to simulate it with 64 changes.
// replay_recording_shop is what the demo's shop sells in each second that passes while it is
// recorded, beside right before and after; make ratios builds it.
//
// The figures shop_throughput and shop_p99 are about the whole of examples/shop, its clients
// included, with everything on but experiments, beside the SDK alone with the same exporters: x is
// requests per second, ours by the peer's, x_cpu requests per second of processor time, and
// ours/peer the 99th percentile of what the clients waited. Each side is a process of its own for 8
// s, in alternating order.
//
// shop_cpu_first_minute and shop_cpu_ten_minutes are the same for processor time alone, from the
// start of the program on.
//
// The figures background_closed, background_open, memory_peak and analysis_p99 are about a service
// of 800 requests a second and 31 spans each (program paced): percent of one core in ten minutes
// beyond that without recordings and page, with the page closed and open; the largest resident set
// beside the SDK's alone; and the 99th percentile with recordings one after the other beside that
// without any.
//
// The lines named growth_ say how a span's cost beside the SDK's changes where there is much of
// something: roots that do not end, names, goroutines that work and that wait. of_first is x by
// that of the first line, and bytes_each the memory that one of them takes on our side, what the
// SDK keeps of it included.
//
// The lines scaling_unsampled have several goroutines, each on a processor of its own:
// each_of_first is what each does of what one does alone.
//
// Both sides yield the processor after every 64 spans, so that the worker has its turn
// where GOMAXPROCS is 1. The garbage collector runs over a heap of at least 64 MiB.
//
// The lines of histograms, hdr_…, have what an operation takes one goroutine of that many, in
// processor time, or by the clock on the wall where goroutines wait for each other. Bytes are what
// the heap holds for a side once all its buckets are there. Those named hdr_range_ are for values
// of three ranges. The lines hdr_conversion_error give the worst relative error of what was
// recorded, exported as an exponential histogram and read from that. The lines otel_series_bytes
// have what the heap holds for each of many series of latencies, attributes included.
package main

// Command faults runs a service with everything of otelprof switched on, and beside it the same
// service with the OpenTelemetry SDK alone, under the same load, through faults of the network, the
// disk, the process's limits and the sources of plans. It prints one line for each fault:
//
//	fault NAME requests=… failed=… p99_ratio=… lost=… said=… rss_mb=… peak_mb=… bare_peak_mb=… recordings=… goroutines=… dropped=…
//
// requests and failed count the requests to the service with otelprof from the fault's beginning
// on; one that is not answered in 5 s has failed. p99_ratio is that service's 99th percentile of
// latency over that of the service without otelprof, requests to which alternate with its own. Most
// rows measure it for 12 s in the state in which a service is for most of its life: the load has
// gone on until the first recording has been analysed, the causal profile is not read, and nothing
// is recorded. In 4 s after that, still with the fault, it is read, so that recordings come one
// after the other; they are part of all other counts. Row starting measures the first seconds, from
// the third on, while the profile is read and its first numbers are awaited, and row watched a
// minute after these, in which there is one recording. viewer_hammered measures a minute, and
// term_* none. Flag -quick begins each fault after a second, and does not wait.
//
// lost counts sampled spans that are neither exported nor counted as dropped. said counts warnings
// and errors in the service's log, of otelprof and of OpenTelemetry's error handler, from before
// the fault to the end of the process; messages about the machine at the start are not among them.
// rss_mb is the resident memory after the fault in MiB, peak_mb and bare_peak_mb its peaks with and
// without otelprof, recordings how many have been analysed until then, and goroutines the number of
// goroutines after the fault less that before it.
//
// A line ends in "ok", or in what does not hold: failed is not 0, p99_ratio is above 1.1 three
// times in a row (flag -quick makes too few requests to judge that), lost is not 0, said is above
// 3, the heap has grown by 16 MiB more than that of the service without otelprof, there are more
// than 4 goroutines more, or the service has not ended within its time after SIGTERM. Rows
// memory_128, memory_235 and memory_busy do not judge p99_ratio, but want peak_mb at most 64 above
// bare_peak_mb, a recording where there is memory for one, and none where there is not, with the
// reason in the status. The exit status is then 1. "skipped" names what the machine lacks, and is a
// failure where REQUIRE_FAULTS is set.
package main

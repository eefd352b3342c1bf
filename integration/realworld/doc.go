// Command realworld holds the predictions of replay against the real thing, like command accuracy, on programs that others
// wrote:
//
//	accuracy hotrod mode=replay build=go processes=1 region="SQL SELECT" speedup=0.25 predicted=24.10 lo=21.90 hi=26.20 actual=24.50 error=-0.40
//
//	build               go: by go build; otelprof: by otelprof build
//	predicted, lo, hi   by how many percent the time between visits of the progress point would shrink, with its
//	                    95 % interval, as a Profile says
//	actual              by how many percent the time between answers with status 200 shrank when the region took speedup less of its delay
//	error               predicted - actual, in percentage points
//	withheld            why there is no number, in place of the numbers
//
// A line with SUMMARY sums up a program and a build, with the fields of command accuracy.
//
// # The programs
//
//	hotrod   Jaeger's HotROD, github.com/jaegertracing/jaeger v1.76.0, all services in one process. The SQL query takes 15 ms,
//	         Redis 2 ms to find drivers and 0.3 ms to get one, a route 2.5 ms by a pool of three workers.
//	registry CNCF Distribution's registry of images, github.com/distribution/distribution/v3 v3.0.0: a manifest by its tag. A read
//	         of its storage takes 3 ms, a look 1.5 ms, and at most three calls of the storage are under way.
//
// None of them is part of this repository. The go command downloads a program's module; its source is copied to
// .tools/realworld, and changed there:
//
//   - The line that makes the TracerProvider wraps it by spans.WrapTracerProvider, with the hook of a causal.Controller. That is what a
//     user of otelprof writes.
//   - Each delay asks for its length, so that it can be changed while the program runs. The registry has none of its own;
//     delays stand where it calls its storage.
//   - What does not compile, or start, with the newer versions of OpenTelemetry that otelprof needs.
//
// A place that is not as expected is an error. The module's go.mod is made to take otelprof from this checkout.
//
// # How it is measured
//
// The program has a process of its own, and eight clients another; each of these sends its next request when the last one is
// answered. All of it is on the loopback. Replay records some windows (-windows, -record), and up to as many
// more while fewer than five can be simulated. Then windows of 3 s with and
// without a faster region take turns, in random order of the questions, and each is compared with the mean of the
// windows before and after it; a window begins half a second after the change, and lasts from one answer to another.
// Actual is the median of four such pairs. A comment gives the least and the most, and what two windows differ by that are alike.
//
// What other processes disturbed, more than 5 % of a processor by /proc, is measured again for up to three minutes (-patience).
// How often, and what was kept nevertheless, stands in comments.
//
// The flag -truth measures what really happens without asking replay. With -traces FOLDER the command measures nothing, and
// writes execution traces of the program, for tools that read them.
package main

// Command realworld holds the predictions of replay against the real thing, like command accuracy,
// on programs that others wrote:
//
//	accuracy hotrod mode=replay build=go processes=1 region="SQL SELECT" speedup=0.25 predicted=24.10 lo=21.90 hi=26.20 actual=24.50 error=-0.40
//
//	build               go: by go build; otelprof: by otelprof build
//	predicted, lo, hi   by how many percent the time between visits of the progress point would shrink, with its
//	                    95 % interval, as a Profile has it
//	actual              by how many percent the time between answers with status 200 shrank when the region took speedup less of its delay
//	error               predicted - actual, in percentage points
//	withheld            why there is no number, in place of the numbers
//
// A line with SUMMARY sums up a program and a build, with the fields of command accuracy.
//
// In mode slowdown a plan of a minute or more (-plan) runs twice, without limits and with those by
// default. A line "cost" has the throughput and the p99 before, during and after it; mode=combined
// is the answer of recordings within what the plan with default limits allows, and of several
// processes that of joined recordings alone; and a line "rank" has the region with the largest
// answer, and the one that brings most.
//
// # The programs
//
//	hotrod   Jaeger's HotROD, github.com/jaegertracing/jaeger v1.76.0, all services in one process. The SQL query takes 15 ms,
//	         Redis 2 ms to find drivers and 0.3 ms to get one, a route 2.5 ms by a pool of three workers.
//	hotrod4  The same, each of its four services in a process of its own. A plan by the clock delays in all of them, and what
//	         they count adds up; their recordings are joined, as by otelprof whatif URL URL. It is asked in mode slowdown.
//	registry CNCF Distribution's registry of images, github.com/distribution/distribution/v3 v3.0.0: a manifest by its tag. A read
//	         of its storage takes 3 ms, a look 1.5 ms, and at most three calls of the storage are under way.
//	openfga  OpenFGA's server of relations, github.com/openfga/openfga v1.22.1: a check whose answer takes Read, 6 ms, then
//	         ReadUsersetTuples, 8 ms, then ReadUserTuple, 4 ms. Beside these, others of them find nothing.
//	etcd     Three members of etcd, go.etcd.io/etcd/server/v3 v3.7.3, in one process: a put, which takes 6 ms to be admitted, and
//	         goes to another member and back by links that take 4 ms to carry what has come.
//	benthos  A stream of Benthos, github.com/redpanda-data/benthos/v4 v4.60.0: a workflow by four threads, with a price in 12 ms
//	         and the stock in 8 ms side by side, then how to ship in 5 ms.
//
// Nothing of them is part of this repository. All but HotROD are imported: a folder of programs/
// has a module of its own, with a main of ours that starts the program from its public packages and
// wraps a TracerProvider by spans.WrapTracerProvider, with the hook of a causal.Controller, as a
// user of otelprof does. The delays stand in what the program lets its user bring along:
//
//   - registry: a storage driver around the one of files, below the registry's regulator. Our spans
//     are around the regulator.
//   - openfga: the storage's interface around the one in memory. The spans of the storage are ours,
//     the others OpenFGA's.
//   - etcd: an interceptor of its gRPC server, and the network between members. The span of a call
//     and of an admission are ours, the span put is etcd's. What happens within put (the queue of
//     proposals, Raft, the log's fsync, applying, the commits of the backend) has no span and no
//     public hook: it can neither be asked about nor really be sped up.
//   - benthos: processors that are plug-ins. All spans are Benthos's.
//
// HotROD cannot be imported so. The services of customers and drivers make their TracerProviders
// themselves, so that there is nothing to wrap, in a function that ends the program if the SDK's
// schema is newer than HotROD's, as it is with ours. They also take metrics of a type that is
// internal to Jaeger. The go command downloads its module; the source is copied to
// .tools/realworld, and changed there:
//
//   - The line that makes the TracerProvider wraps it.
//   - Each delay asks for its length, so that it can be changed while the program runs.
//   - What does not compile, or start, with the newer versions of OpenTelemetry that otelprof
//     needs.
//
// A place that is not as expected is an error. The copy's go.mod is made to take otelprof from this
// checkout.
//
// # How it is measured
//
// The program has a process of its own, and eight clients another; each of these sends its next
// request when the last one is answered. All of it is on the loopback. Replay records some windows
// (-windows, -record), and up to as many more while fewer than five can be simulated. Then windows
// of 3 s with and without a faster region take turns, in random order of the questions, and each is
// compared with the mean of the windows before and after it; a window begins half a second after
// the change, and lasts from one answer to another. Actual is the median of four such pairs. A
// comment gives the least and the most, and what two windows differ by that are alike.
//
// What other processes disturbed, more than 5 % of a processor by /proc, is measured again for up
// to three minutes (-patience). How often, and what was kept nevertheless, stands in comments.
//
// The flag -truth measures what really happens without asking replay. With -traces FOLDER the
// command measures nothing, and writes execution traces of the program, for tools that read them.
package main

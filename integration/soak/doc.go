// Command soak runs a service under random valid plans, one after the other, and holds what its
// callers feel against the plans' limits. Each claim is a line, and one that does not hold ends the
// command with a failure:
//
//	soak mode=library claim=per_trace ok=true requests=81234 worst=24.9ms of=25ms
//
//	per_trace   no request is delayed by more than limits.per_trace and a millisecond: all goroutines of it, what the
//	            service asks of itself, its connection's wait for it and the answer included
//	streams     nor is a connection that was taken over, and sends messages for seconds, or for as long as the soak runs
//	health      no health check is delayed, nor is what it asks the database
//	idle        no connection is delayed while it waits for a request (in programs of otelprof build alone: others do not
//	            delay what waits)
//	duty        no 100 ms have more delay than limits.duty, but for what a wait is too long by
//	total       no plan spends more than limits.total
//	memory      the heap does not grow by more than 5 MiB, nor do goroutines by more than 50
//	work        there were plans, and delays
//	answers     no request of a client fails
//
// The service is a process of its own. It has the exporters that otelprof.Setup makes, for a
// Collector that stalls; the clients and that Collector are another process. Delays are as the
// service books them for each goroutine and each session, not what clients measure: on a machine
// with other things to do that would be their delays, too. What clients saw is in comments.
package main

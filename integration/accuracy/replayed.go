package main

import "slices"

// A class is what a program's time is spent on, and so what a prediction has to know.
type class string

const (
	outside   class = "outside"   // waits for timers and the network
	contended class = "contended" // locks, channels and places that others have
	computing class = "computing" // processors, of which there are enough
	crowded   class = "saturated" // processors, of which there are not enough
)

// replayedWorkloads are asked about in replay: the nine of other modes, netpoll, and ones that only
// a simulation gets right.
func replayedWorkloads(t types) []workload {
	return of(t, slices.Concat(classicWorkloads(), simulatedWorkloads(), untuned(), services(), helpers(), answered()))
}

// classicWorkloads are the nine of other modes, and netpoll.
func classicWorkloads() []workload {
	return []workload{
		{
			name: "join", about: "10 ms and 6 ms side by side, and a join", class: outside,
			regions: []string{"a", "b"}, run: join(10*ms, 6*ms), short: true,
		},
		{
			name: "mutex_io", about: "8 goroutines, 10 ms each and 2 ms under a lock", class: contended,
			regions: []string{"critical", "private"}, run: mutexes(8, (*program).io, 10*ms, 2*ms), short: true, control: "nothing", kind: "noop",
		},
		{
			name: "mutex_cpu", about: "2 goroutines, 200 µs each and 100 µs under a lock, all computing", class: computing,
			regions: []string{"critical", "private"}, run: mutexes(2, (*program).cpu, 200*us, 100*us), computes: true,
		},
		{
			name: "pipeline", about: "10 ms, a channel of 2, 7 ms", class: outside,
			regions: []string{"produce", "consume"}, run: pipeline(10*ms, 7*ms, 0), short: true,
		},
		{
			name: "fanout", about: "2 ms, then 10 ms and 7 ms side by side, then 2 ms", class: outside,
			regions: []string{"b1", "b2"}, run: fanOut(2*ms, 10*ms, 7*ms),
		},
		{
			name: "serial", about: "one goroutine, 200 µs and 300 µs, computing, and one aside", class: computing,
			regions: []string{"c", "w"}, run: serialAndAside, computes: true, short: true, control: "aside", kind: "aside",
		},
		{
			name: "randmutex", about: "8 clients who wait and compute, and draw from a slow source under a lock", class: contended,
			regions: []string{"draw", "fetch"}, run: randMutex,
		},
		{
			name: "fasta", about: "2 workers; random numbers under a lock, looked up side by side, written in order", class: computing,
			regions: []string{"random", "select"}, run: fasta, computes: true,
		},
		{
			name: "saturated", about: "8 goroutines that compute on all processors", class: crowded,
			regions: []string{"c", "w"}, run: saturated(8), computes: true, short: true,
		},
		{
			name: "netpoll", about: "8 connections of another process, which thinks for 5 ms, and 1 ms under a lock", class: contended,
			regions: []string{"critical"}, run: serve,
		},
	}
}

// simulatedWorkloads are programs that only a simulation gets right.
func simulatedWorkloads() []workload {
	return []workload{
		{
			name: "fanin", about: "three sources of 11 ms, a channel of 4 that holds them back, a consumer of 5 ms", class: contended,
			regions: []string{"consume", "source"}, run: fanIn, varies: true, short: true,
		},
		{
			name: "pool", about: "8 clients who query for 5 ms, 3 at a time, and think for 6 ms", class: contended,
			regions: []string{"query", "think"}, run: pool, varies: true,
		},
		{
			name: "tiny_lock", about: "5 ms of work that counts and 3 ms that does not, and 5 µs under the same lock", class: contended,
			regions: []string{"work", "other"}, run: tinyLock, short: true,
		},
		{
			name: "transfers", about: "6 clients, 3 ms with two of four locks and 4 ms without", class: contended,
			regions: []string{"inside", "outside"}, run: transfers, varies: true, long: true, short: true,
		},
		{
			name: "lru", about: "8 clients of a cache under an RWMutex: 3 ms to read, and each third time 5 ms to load and 2 ms to write", class: contended,
			regions: []string{"read", "load", "write"}, run: lru, varies: true,
		},
		{
			name: "errgroup", about: "a group of three at a time: three of 6 ms and six of 3 ms", class: outside,
			regions: []string{"long", "short"}, run: threeAtATime, varies: true,
		},
		{
			name: "batches", about: "6 clients, 4 ms each, then 5 ms for a batch of four or of what comes in 4 ms", class: outside,
			regions: []string{"flush", "prepare"}, run: batches, varies: true,
		},
		{
			name: "oversubscribed", about: "6 goroutines that compute 2 ms and rest 3 ms", class: crowded,
			regions: []string{"c", "rest"}, run: oversubscribed, varies: true, short: true,
		},
		{
			name: "open", about: "requests at random times, 2 ms on average: 3 ms, and 1 ms under a lock", class: contended,
			regions: []string{"critical", "fetch"}, run: openLoop, varies: true, request: "request",
		},
	}
}

// untuned are programs that nothing in replay was made for.
func untuned() []workload {
	return slices.Concat(queueWorkloads(), sharingWorkloads(), pacedWorkloads(), conditionWorkloads(), choiceWorkloads(), lockWorkloads())
}

// queueWorkloads are pipelines, and clients that wait for one of a few servers.
func queueWorkloads() []workload {
	return []workload{
		{
			name: "pipeline_75", about: "7 ms, a channel of 2, 5 ms, each up to a third longer or shorter", class: outside,
			regions: []string{"produce", "consume"}, run: pipeline(7*ms, 5*ms, 0.33), varies: true,
		},
		{
			name: "pipeline_57", about: "5 ms, a channel of 2, 7 ms, each up to a third longer or shorter", class: outside,
			regions: []string{"produce", "consume"}, run: pipeline(5*ms, 7*ms, 0.33), varies: true,
		},
		{
			name: "pipeline_even", about: "6 ms, a channel of 2, 6 ms, each up to 0.9 of that longer or shorter", class: outside,
			regions: []string{"produce", "consume"}, run: pipeline(6*ms, 6*ms, 0.9), varies: true,
		},
		{
			name: "bursty", about: "twelve jobs of 4 ms at once for four workers, then 8 ms of nothing", class: outside,
			regions: []string{"work", "pause"}, run: bursty, varies: true,
		},
		{
			name: "heterogeneous", about: "8 clients who think for 5 ms, then, 3 at a time, 2 ms, and 12 ms each fifth time", class: contended,
			regions: []string{"cheap", "dear", "think"}, run: heterogeneous, varies: true,
		},
		{
			name: "workers", about: "6 clients, 7 ms each, and two workers for 3.2 ms, in children of the clients' spans", class: contended,
			regions: []string{"store", "prepare"}, run: workers, varies: true,
		},
		{
			name: "actor", about: "4 clients, 5 ms each, and one goroutine that answers them, 2 ms", class: contended,
			regions: []string{"handle", "prepare"}, run: actor, varies: true,
		},
	}
}

// sharingWorkloads are programs whose goroutines share a result or a limited number of places.
func sharingWorkloads() []workload {
	return []workload{
		{
			name: "singleflight", about: "5 clients, 4 ms each; one of them loads for 6 ms what is good for 8 uses", class: contended,
			regions: []string{"load", "use"}, run: singleFlight, varies: true,
		},
		{
			name: "once", about: "rounds of four: 2 ms, 4 ms that only the first of them has, 4 ms", class: outside,
			regions: []string{"make", "after"}, run: onceEach, varies: true,
		},
		{
			name: "weighted", about: "7 clients of 4 places, each 3 ms; a third of the requests takes two places for 6 ms; 3 ms to think", class: contended,
			regions: []string{"large", "small"}, run: weighted, varies: true,
		},
		{
			name: "handlers", about: "a goroutine for each of 4 clients' requests, which starts three: 4 ms, and 2 ms two at a time, twice; 6 ms", class: contended,
			regions: []string{"together", "alone", "beside"}, run: handlers, varies: true,
		},
	}
}

// pacedWorkloads are programs that a ticker or the clock paces.
func pacedWorkloads() []workload {
	return []workload{
		{
			name: "ticking", about: "4 workers, 7 ms each, and a ticker that lets one of them go on each 3 ms", class: outside,
			regions: []string{"work"}, run: ticking, varies: true,
		},
		{
			name: "paced", about: "3 loops that take a turn each 8 ms: 4 ms, and 1 ms under a lock", class: outside,
			regions: []string{"work", "note"}, run: paced, varies: true,
		},
	}
}

// conditionWorkloads are programs whose goroutines wait for a condition.
func conditionWorkloads() []workload {
	return []workload{
		{
			name: "bounded", about: "2 producers of 5 ms and 2 consumers of 7 ms, a queue of three places by condition variables", class: contended,
			regions: []string{"consume", "produce"}, run: bounded, varies: true,
		},
		{
			name: "pubsub", about: "a publisher of 4 ms, and 4 subscribers of 5 ms, who take the latest issue", class: contended,
			regions: []string{"publish", "read"}, run: pubSub, varies: true,
		},
		{
			name: "barrier", about: "rounds of four that wait for each other: 5 ms, and three of 4 ms", class: outside,
			regions: []string{"longer", "equal"}, run: barrier, varies: true,
		},
	}
}

// choiceWorkloads are programs that choose between channels, or give up a wait at a deadline.
func choiceWorkloads() []workload {
	return []workload{
		{
			name: "collecting", about: "3 workers, 6 ms each; of their results 2 ms each, and 4 ms for a report each 25 ms, by one goroutine", class: contended,
			regions: []string{"work", "collect", "report"}, run: collecting, varies: true,
		},
		{
			name: "retried", about: "4 clients, 8 ms each, and 2 servers of 3 ms, each sixth time 14 ms; asked again after 10 ms", class: contended,
			regions: []string{"serve", "think"}, run: retried, varies: true,
		},
		{
			name: "backoff", about: "4 clients, 7 ms each, and 2.5 ms at one place, tried again after 1 ms and more", class: contended,
			regions: []string{"inside", "outside"}, run: backoff, varies: true,
		},
		{
			name: "deadlines", about: "5 clients, 5 ms each, and a call of 6 ms with a deadline of 8 ms, tried again after 2 ms", class: outside,
			regions: []string{"call", "think"}, run: deadlines, varies: true,
		},
		{
			name: "hedged", about: "4 clients of a replica of 6 ms, and of another one as well if it takes 5 ms", class: outside,
			regions: []string{"replica", "use"}, run: hedged, varies: true,
		},
		{
			name: "priority", about: "2 workers who take urgent jobs of 2 ms of 3 clients first, and then those of 3 ms of 4 others", class: contended,
			regions: []string{"urgent", "other"}, run: priority, varies: true,
		},
	}
}

// lockWorkloads are programs whose goroutines contend for locks.
func lockWorkloads() []workload {
	return []workload{
		{
			name: "reload", about: "6 readers, 2 ms under an RWMutex and 3 ms without, and 3 ms to write each 12 ms", class: contended,
			regions: []string{"reload", "read", "answer"}, run: reload, varies: true,
		},
		{
			name: "sharded", about: "6 clients, 3 ms each and 1 ms under one of four locks, of which a goroutine holds one after the other for 2 ms", class: contended,
			regions: []string{"look up", "refresh", "outside"}, run: sharded, varies: true,
		},
		{
			name: "enclosed", about: "6 clients, 5 ms each, and spans around the wait for a lock and 2 ms under it", class: contended,
			regions: []string{"enclosing", "think"}, run: enclosed, varies: true,
		},
		{
			name: "some_lock", about: "8 clients, 5 ms each, and 3 ms under a lock each third time, else 2 ms", class: contended,
			regions: []string{"common", "locked", "free"}, run: someLock, varies: true,
		},
	}
}

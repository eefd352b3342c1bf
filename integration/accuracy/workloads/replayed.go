package workloads

import "slices"

// A Class is what a program's time is spent on, and so what a prediction has to know.
type Class string

const (
	Outside   Class = "outside"   // waits for timers and the network
	Contended Class = "contended" // locks, channels and places that others have
	Computing Class = "computing" // processors, of which there are enough
	Crowded   Class = "saturated" // processors, of which there are not enough
)

// ReplayedWorkloads are asked about in replay: the nine of other modes, netpoll, and ones that only
// a simulation gets right.
func ReplayedWorkloads(t Types) []Workload {
	return Of(t, slices.Concat(classicWorkloads(), simulatedWorkloads(), untuned(), services(), helpers(), answered(), stateful(), idioms(), requested()))
}

// classicWorkloads are the nine of other modes, and netpoll.
func classicWorkloads() []Workload {
	return []Workload{
		{
			Name: "join", About: "10 ms and 6 ms side by side, and a join", Class: Outside,
			Regions: []string{"a", "b"}, Run: Join(10*ms, 6*ms), Short: true,
		},
		{
			Name: "mutex_io", About: "8 goroutines, 10 ms each and 2 ms under a lock", Class: Contended,
			Regions: []string{"critical", "private"}, Run: Mutexes(8, (*Program).IO, 10*ms, 2*ms), Short: true, Control: "nothing", Kind: "noop",
		},
		{
			Name: "mutex_cpu", About: "2 goroutines, 200 µs each and 100 µs under a lock, all computing", Class: Computing,
			Regions: []string{"critical", "private"}, Run: Mutexes(2, (*Program).CPU, 200*us, 100*us), Computes: true,
		},
		{
			Name: "pipeline", About: "10 ms, a channel of 2, 7 ms", Class: Outside,
			Regions: []string{"produce", "consume"}, Run: Pipeline(10*ms, 7*ms, 0), Short: true,
		},
		{
			Name: "fanout", About: "2 ms, then 10 ms and 7 ms side by side, then 2 ms", Class: Outside,
			Regions: []string{"b1", "b2"}, Run: FanOut(2*ms, 10*ms, 7*ms),
		},
		{
			Name: "serial", About: "one goroutine, 200 µs and 300 µs, computing, and one aside", Class: Computing,
			Regions: []string{"c", "w"}, Run: SerialAndAside, Computes: true, Short: true, Control: "aside", Kind: "aside",
		},
		{
			Name: "randmutex", About: "8 clients who wait and compute, and draw from a slow source under a lock", Class: Contended,
			Regions: []string{"draw", "fetch"}, Run: RandMutex,
		},
		{
			Name: "fasta", About: "2 workers; random numbers under a lock, looked up side by side, written in order", Class: Computing,
			Regions: []string{"random", "select"}, Run: Fasta, Computes: true,
		},
		{
			Name: "saturated", About: "8 goroutines that compute on all processors", Class: Crowded,
			Regions: []string{"c", "w"}, Run: Saturated(8), Computes: true, Short: true,
		},
		{
			Name: "netpoll", About: "8 connections of another process, which thinks for 5 ms, and 1 ms under a lock", Class: Contended,
			Regions: []string{"critical"}, Run: Serve,
		},
	}
}

// simulatedWorkloads are programs that only a simulation gets right.
func simulatedWorkloads() []Workload {
	return []Workload{
		{
			Name: "fanin", About: "three sources of 11 ms, a channel of 4 that holds them back, a consumer of 5 ms", Class: Contended,
			Regions: []string{"consume", "source"}, Run: fanIn, Varies: true, Short: true,
		},
		{
			Name: "pool", About: "8 clients who query for 5 ms, 3 at a time, and think for 6 ms", Class: Contended,
			Regions: []string{"query", "think"}, Run: pool, Varies: true,
		},
		{
			Name: "tiny_lock", About: "5 ms of work that counts and 3 ms that does not, and 5 µs under the same lock", Class: Contended,
			Regions: []string{"work", "other"}, Run: tinyLock, Short: true,
		},
		{
			Name: "transfers", About: "6 clients, 3 ms with two of four locks and 4 ms without", Class: Contended,
			Regions: []string{"inside", "outside"}, Run: transfers, Varies: true, Long: true, Short: true,
		},
		{
			Name: "lru", About: "8 clients of a cache under an RWMutex: 3 ms to read, and each third time 5 ms to load and 2 ms to write", Class: Contended,
			Regions: []string{"read", "load", "write"}, Run: lru, Varies: true,
		},
		{
			Name: "errgroup", About: "a group of three at a time: three of 6 ms and six of 3 ms", Class: Outside,
			Regions: []string{"long", "short"}, Run: threeAtATime, Varies: true,
		},
		{
			Name: "batches", About: "6 clients, 4 ms each, then 5 ms for a batch of four or of what comes in 4 ms", Class: Outside,
			Regions: []string{"flush", "prepare"}, Run: batches, Varies: true,
		},
		{
			Name: "oversubscribed", About: "6 goroutines that compute 2 ms and rest 3 ms", Class: Crowded,
			Regions: []string{"c", "rest"}, Run: oversubscribed, Varies: true, Short: true,
		},
		{
			Name: "open", About: "requests at random times, 2 ms on average: 3 ms, and 1 ms under a lock", Class: Contended,
			Regions: []string{"critical", "fetch"}, Run: openLoop, Varies: true, Request: "request",
		},
	}
}

// untuned are programs that nothing in replay was made for.
func untuned() []Workload {
	return slices.Concat(queueWorkloads(), sharingWorkloads(), pacedWorkloads(), conditionWorkloads(), choiceWorkloads(), lockWorkloads())
}

// queueWorkloads are pipelines, and clients that wait for one of a few servers.
func queueWorkloads() []Workload {
	return []Workload{
		{
			Name: "pipeline_75", About: "7 ms, a channel of 2, 5 ms, each up to a third longer or shorter", Class: Outside,
			Regions: []string{"produce", "consume"}, Run: Pipeline(7*ms, 5*ms, 0.33), Varies: true,
		},
		{
			Name: "pipeline_57", About: "5 ms, a channel of 2, 7 ms, each up to a third longer or shorter", Class: Outside,
			Regions: []string{"produce", "consume"}, Run: Pipeline(5*ms, 7*ms, 0.33), Varies: true,
		},
		{
			Name: "pipeline_even", About: "6 ms, a channel of 2, 6 ms, each up to 0.9 of that longer or shorter", Class: Outside,
			Regions: []string{"produce", "consume"}, Run: Pipeline(6*ms, 6*ms, 0.9), Varies: true,
		},
		{
			Name: "bursty", About: "twelve jobs of 4 ms at once for four workers, then 8 ms of nothing", Class: Outside,
			Regions: []string{"work", "pause"}, Run: bursty, Varies: true,
		},
		{
			Name: "heterogeneous", About: "8 clients who think for 5 ms, then, 3 at a time, 2 ms, and 12 ms each fifth time", Class: Contended,
			Regions: []string{"cheap", "dear", "think"}, Run: heterogeneous, Varies: true,
		},
		{
			Name: "workers", About: "6 clients, 7 ms each, and two workers for 3.2 ms, in children of the clients' spans", Class: Contended,
			Regions: []string{"store", "prepare"}, Run: workers, Varies: true,
		},
		{
			Name: "actor", About: "4 clients, 5 ms each, and one goroutine that answers them, 2 ms", Class: Contended,
			Regions: []string{"handle", "prepare"}, Run: actor, Varies: true,
		},
	}
}

// sharingWorkloads are programs whose goroutines share a result or a limited number of places.
func sharingWorkloads() []Workload {
	return []Workload{
		{
			Name: "singleflight", About: "5 clients, 4 ms each; one of them loads for 6 ms what is good for 8 uses", Class: Contended,
			Regions: []string{"load", "use"}, Run: singleFlight, Varies: true,
		},
		{
			Name: "once", About: "rounds of four: 2 ms, 4 ms that only the first of them has, 4 ms", Class: Outside,
			Regions: []string{"make", "after"}, Run: onceEach, Varies: true,
		},
		{
			Name: "weighted", About: "7 clients of 4 places, each 3 ms; a third of the requests takes two places for 6 ms; 3 ms to think", Class: Contended,
			Regions: []string{"large", "small"}, Run: weighted, Varies: true,
		},
		{
			Name: "handlers", About: "a goroutine for each of 4 clients' requests, which starts three: 4 ms, and 2 ms two at a time, twice; 6 ms", Class: Contended,
			Regions: []string{"together", "alone", "beside"}, Run: handlers, Varies: true,
		},
	}
}

// pacedWorkloads are programs that a ticker or the clock paces.
func pacedWorkloads() []Workload {
	return []Workload{
		{
			Name: "ticking", About: "4 workers, 7 ms each, and a ticker that lets one of them go on each 3 ms", Class: Outside,
			Regions: []string{"work"}, Run: ticking, Varies: true,
		},
		{
			Name: "paced", About: "3 loops that take a turn each 8 ms: 4 ms, and 1 ms under a lock", Class: Outside,
			Regions: []string{"work", "note"}, Run: paced, Varies: true,
		},
	}
}

// conditionWorkloads are programs whose goroutines wait for a condition.
func conditionWorkloads() []Workload {
	return []Workload{
		{
			Name: "bounded", About: "2 producers of 5 ms and 2 consumers of 7 ms, a queue of three places by condition variables", Class: Contended,
			Regions: []string{"consume", "produce"}, Run: bounded, Varies: true,
		},
		{
			Name: "pubsub", About: "a publisher of 4 ms, and 4 subscribers of 5 ms, who take the latest issue", Class: Contended,
			Regions: []string{"publish", "read"}, Run: pubSub, Varies: true,
		},
		{
			Name: "barrier", About: "rounds of four that wait for each other: 5 ms, and three of 4 ms", Class: Outside,
			Regions: []string{"longer", "equal"}, Run: barrier, Varies: true,
		},
	}
}

// choiceWorkloads are programs that choose between channels, or give up a wait at a deadline.
func choiceWorkloads() []Workload {
	return []Workload{
		{
			Name: "collecting", About: "3 workers, 6 ms each; of their results 2 ms each, and 4 ms for a report each 25 ms, by one goroutine", Class: Contended,
			Regions: []string{"work", "collect", "report"}, Run: collecting, Varies: true,
		},
		{
			Name: "retried", About: "4 clients, 8 ms each, and 2 servers of 3 ms, each sixth time 14 ms; asked again after 10 ms", Class: Contended,
			Regions: []string{"serve", "think"}, Run: retried, Varies: true,
		},
		{
			Name: "backoff", About: "4 clients, 7 ms each, and 2.5 ms at one place, tried again after 1 ms and more", Class: Contended,
			Regions: []string{"inside", "outside"}, Run: backoff, Varies: true,
		},
		{
			Name: "deadlines", About: "5 clients, 5 ms each, and a call of 6 ms with a deadline of 8 ms, tried again after 2 ms", Class: Outside,
			Regions: []string{"call", "think"}, Run: deadlines, Varies: true,
		},
		{
			Name: "timeouts", About: "4 clients of a call of 5 ms on a goroutine of its own, left after 7 ms, and 2 ms each", Class: Outside,
			Regions: []string{"call", "after"}, Run: timeouts, Varies: true,
		},
		{
			Name: "hedged", About: "4 clients of a replica of 6 ms, and of another one as well if it takes 5 ms", Class: Outside,
			Regions: []string{"replica", "use"}, Run: hedged, Varies: true,
		},
		{
			Name: "priority", About: "2 workers who take urgent jobs of 2 ms of 3 clients first, and then those of 3 ms of 4 others", Class: Contended,
			Regions: []string{"urgent", "other"}, Run: priority, Varies: true,
		},
	}
}

// lockWorkloads are programs whose goroutines contend for locks.
func lockWorkloads() []Workload {
	return []Workload{
		{
			Name: "reload", About: "6 readers, 2 ms under an RWMutex and 3 ms without, and 3 ms to write each 12 ms", Class: Contended,
			Regions: []string{"reload", "read", "answer"}, Run: reload, Varies: true,
		},
		{
			Name: "sharded", About: "6 clients, 3 ms each and 1 ms under one of four locks, of which a goroutine holds one after the other for 2 ms", Class: Contended,
			Regions: []string{"look up", "refresh", "outside"}, Run: sharded, Varies: true,
		},
		{
			Name: "enclosed", About: "6 clients, 5 ms each, and spans around the wait for a lock and 2 ms under it", Class: Contended,
			Regions: []string{"enclosing", "think"}, Run: enclosed, Varies: true,
		},
		{
			Name: "some_lock", About: "8 clients, 5 ms each, and 3 ms under a lock each third time, else 2 ms", Class: Contended,
			Regions: []string{"common", "locked", "free"}, Run: someLock, Varies: true,
		},
	}
}

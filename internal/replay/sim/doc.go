// Package sim replays a program by discrete-event simulation: goroutines on processors by the rules
// of Go's scheduler, and locks, channels, select statements, wait groups, timers and the like that
// decide anew. A [Change] has regions be faster or slower, held, or the machine have more or fewer
// processors.
//
// # What is kept, and what is decided anew
//
// The list of a goroutine is kept: for how long it computes, for how long it waits for a timer or
// the network, which locks and channels it comes to, and in which order. When it comes there is
// decided anew, and with that who has the lock, which element is taken, who waits, and for how
// long. Two goroutines, A and B, compute and then hold one lock for 3 ms:
//
//	as recorded    A  computes 0..4, holds 4..7
//	               B  computes 0..5, waits 5..7, holds 7..10
//	B computes     A  computes 0..4, waits 4..5.5, holds 5.5..8.5
//	half as long   B  computes 0..2.5, holds 2.5..5.5
//
// Both are done after 8.5 ms in place of 10, since B has the lock first. A model that keeps the
// order of the recording has B wait for A, and finds that nothing is gained.
//
// # Where that fails
//
// What a goroutine does is as recorded, even where the program would choose otherwise at another
// time: a retry, a cache that is found empty, the least loaded worker. That is the known limit of
// simulation from traces (Goldschmidt and Hennessy, The Accuracy of Trace-Driven Simulations of
// Multiprocessors, SIGMETRICS 1993). Select statements, offers to a channel, stores, batches and
// work per time are modelled as choices. Package doubt bounds or withholds the answer for others
// that it finds, and each answer enters only as far as a replay of nothing changed meets the
// recording: see doubt.MaxDeviation.
//
// # Time and chance
//
// Times are ns since the window began. Time passes from one happening to the next, and ops other
// than computing and waits outside take none. A simulation uses neither clock nor goroutine, and
// draws random choices from a generator that begins the same each time: two simulations of one
// change are alike (TestSimulationsAlike), and a difference between two changes is due to these.
//
// # Where things are
//
//	compile.go, computing.go     the program as instructions, and rows of ops that compute
//	simulate.go, heap.go         the loop, one instruction after the other, and the event list
//	simulation.go                the state: changes, runners, factors of regions
//	scheduler.go                 processors, the run queue, slices, how late processors wake up
//	objects.go                   dispatch of operations; sends, receives, wait groups, barriers
//	mutex.go, rwmutex.go         sync.Mutex and sync.RWMutex
//	chan.go, select.go           channels, select statements
//	station.go, requests.go      goroutines that serve, and requests to them
//	tokens.go, waitgroup.go      waits for one goroutine, and for all that one has started
//	batch.go, store.go, cond.go  batchers, cached values, turns in a sequence
//	timer.go, periodic_work.go   tickers, arrivals, work that is done per time
//	outcome.go                   what a simulation came to, and doubts that it shows
package sim

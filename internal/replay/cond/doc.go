// Package cond infers waits in which one goroutine lets several go on, or several let one:
// condition variables, batches, fork-join, quorums and functions that timers call. A stock trace
// shows which goroutine ended which wait, and nothing of the condition behind it. Kept as recorded,
// such a wait ties two goroutines together that met by chance; in a faster program others would
// meet.
//
// Each rule is a hypothesis: for every recorded moment it predicts whether a goroutine has to wait.
// It is taken where it agrees with the recording in 95 % of the cases (model.Agreeing and
// hidden.Fairness), and puts an object of package sim in place of the waits. Otherwise the recorded
// order stays, and what it takes for granted bounds the answer: other programs without those waits
// (unsignal in package replay), or a doubt (UncalledFor of model.Program).
//
//	conditions.go    sync.Cond: sections of its lock, and what an inference changes in a list
//	rules.go         a count, the latest news, a barrier; the tests of a fit
//	tickets.go       a sequence: goroutines go on in the order of numbers
//	batches.go       group commit: one goroutine takes whatever has come, and answers all
//	batch_cost.go    how long a batch takes, by its size
//	afterfunc.go     time.AfterFunc: the first request sets the timer for all
//	fork_join.go     a WaitGroup: all goroutines that the waiting one has started
//	quorum.go        answers by channels: all goroutines but a fixed number
//	intervals.go     even intervals: tickers and timetables
//	timer_slack.go   by how much timers of the runtime are late
//	anchors.go       kinds of ops by which other rules compare what goroutines do
//
// Package infer calls them in this order (rules.go there): [Conditions] and [Batches] while the
// recording is translated, [Gather] before locks are inferred, whose waits have the same reason.
// make ablation measures what the answers lose without each rule.
package cond

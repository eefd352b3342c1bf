// Package replay answers what would be if a part of a program were faster, from a recording of the
// program, by discrete-event simulation: it simulates the recorded goroutines with locks, channels,
// queues and processors that decide anew.
//
// A [Study] takes recordings, a window of some seconds at a time, and sums them up. What is done
// with one window, in this order:
//
//	nearest       reading.go      a translation that replays what was recorded (the self-check)
//	doubtful      rules.go        what the recording leaves open: pauses, refused offers
//	findLoops     loop.go         whether work comes in an open loop or a closed one
//	alternatives  bounds.go       other translations that meet the recording as well
//	simulate      ask.go          each region faster, by each speed-up
//	hold          hold.go         each region slower, as experiments slow it down
//	restructure   restructure.go  another build: more processors, a lock less, a roomier channel
//
// [Study.Result] then makes one number and one interval of all windows, or finds why there is none:
// doubts.go. An answer is a ratio of two replays, with the change and without it, and not of a
// replay and the recording: what the model has too long by the same factor in both cancels out.
package replay

// Package cond finds for what goroutines wait for each other where one lets several go on, or
// several let one: condition variables, batches, wait groups, quorums and functions that timers
// call. Each rule is held against the recording, and dropped unless it is right nineteen times out
// of twenty.
package cond

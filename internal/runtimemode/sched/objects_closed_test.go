//go:build otelprof_runtime && !race

package sched_test

import "testing"

// A send that waits when its channel is closed panics. The race detector rightly objects.
func TestObjectsClosed(t *testing.T) {
	testWaiting(t, map[string]waitingCase{
		"send, closed": {func(t *testing.T) any {
			c := make(chan int)
			end := waiting(t, func() { defer func() { _ = recover() }(); c <- 2 })
			close(c)
			end()
			return c
		}, "1AS 2Az 1A~e"},
		"send by select, closed": {func(t *testing.T) any {
			c, d := make(chan int), make(chan int)
			end := waiting(t, func() { defer func() { _ = recover() }(); wait(c, d) })
			close(c)
			end()
			return c
		}, "1Az 2A~e"},
	})
}

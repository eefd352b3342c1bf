//go:build !otelprof_runtime

package sched_test

import (
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// In a program of go build nothing is there, and nothing happens.
func TestNothingIsThere(t *testing.T) {
	if sched.Present {
		t.Fatal("Present is true")
	}
	sched.Start(0.5, sched.Limits{PerSpan: time.Second, Total: time.Second})
	defer sched.Stop()
	defer sched.Exempt()()
	v := sched.Enter()
	v.Leave()
	sched.Here().Served(true)
	request := sched.Open(false)
	if before := request.Join(false); before != (sched.Request{}) || request.Close() != 0 || sched.Refused() != (sched.Refusals{}) || sched.Late() != 0 {
		t.Error("there is a request")
	}
	var w sched.Watch
	w.Begin()
	if times, ok := w.End(); ok || times != (sched.Times{}) || sched.Watching() != 0 {
		t.Errorf("End() = %+v, %t, want nothing", times, ok)
	}
	growth, inForce := sched.Growth()
	credit, spent := sched.Books()
	if sched.Point() != 0 || growth != 0 || inForce || credit != 0 || spent != 0 || sched.Read() != (sched.Counts{}) {
		t.Error("something has been counted")
	}
}

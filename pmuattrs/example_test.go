package pmuattrs_test

import (
	"fmt"
	"runtime"

	"github.com/otelprof/otelprof/pmuattrs"
)

func ExampleOpenBest() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	counters, reason := pmuattrs.OpenBest(pmuattrs.Cycles, pmuattrs.Instructions)
	if counters == nil {
		fmt.Println(reason)
		return
	}
	defer counters.Close()

	var before, after pmuattrs.Reading
	if err := counters.Read(&before); err != nil {
		fmt.Println(err)
		return
	}
	sum := 0
	for i := range 1_000_000 {
		sum += i
	}
	if err := counters.Read(&after); err != nil {
		fmt.Println(err)
		return
	}
	deltas, err := after.Since(before)
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, count := range deltas.All() {
		fmt.Println(event.Name(), count, event.Unit())
	}
}

func ExampleParseEvent() {
	for _, text := range []string{"branch-misses", "L1-dcache-load-misses", "r01c2", "brnch_misses"} {
		event, err := pmuattrs.ParseEvent(text)
		fmt.Println(event, event.Unit(), err)
	}
	// Output:
	// branch_misses {miss} <nil>
	// l1d.read_misses {miss} <nil>
	// r1c2 {event} <nil>
	//   pmuattrs: event "brnch_misses": unknown: did you mean branch_misses or cache_misses?
}

package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestSharing has two goroutines with spans on one or two processors.
func TestSharing(t *testing.T) {
	record := func(procs int, waits bool) *trace.Recording {
		b := trace.NewRecorder(0, procs)
		b.Place(1)
		b.R.Sites[1].Frames = []trace.Frame{{Func: "sync.(*Mutex).Lock"}}
		for g := range int64(procs) {
			b.Running(0, g)
		}
		if procs == 1 {
			b.Runnable(0, 1)
		}
		for g := range int64(2) {
			b.Open(0, g, uint64(g+1), 0, trace.Region{Name: "work"})
		}
		for n := range int64(60) {
			at, g := 1+10*ms*n, n%2
			switch {
			case procs == 1:
				b.Yield(at, g)
				b.Start(at, 1-g, 0)
				if !waits {
					break
				}
				b.Wait(at+ms, 1-g, 1)
				b.Start(at+ms, g, 0)
				b.Ready(at+2*ms, 1-g, g)
				b.Yield(at+2*ms, g)
				b.Start(at+2*ms, 1-g, 0)
			case waits:
				b.Wait(at, g, 1)
				b.Ready(at+ms, g, 1-g)
				b.Start(at+ms, g, g)
			}
		}
		return b.Recording(600 * ms)
	}
	for _, tt := range []struct {
		name     string
		procs    int
		waits    bool
		from, to float64
	}{
		{"one processor, no wait in 60 turns", 1, false, 0.05, 0.05},
		{"one processor, waits", 1, true, 1, 1},
		{"two processors, no wait", 2, false, 0.03, 0.04},
		{"two processors, waits for a twentieth of the time", 2, true, 0.3, 0.35},
	} {
		if s := sharingIn(record(tt.procs, tt.waits)); s.serial < tt.from || s.serial > tt.to {
			t.Errorf("%s: %.3f may be under one lock, want %g to %g", tt.name, s.serial, tt.from, tt.to)
		}
	}
}

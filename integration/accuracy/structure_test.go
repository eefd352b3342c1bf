package main

import (
	"math"
	"testing"
	"time"
)

// TestRebuilds runs each program as it is built in each way that is asked about.
func TestRebuilds(t *testing.T) {
	calibrate()
	known := map[string]bool{}
	for _, w := range replayedWorkloads(plainTypes) {
		known[w.name] = true
		for _, r := range rebuilds[w.name] {
			t.Run(w.name+"/"+r.name, func(t *testing.T) {
				if r.shape == r.usual {
					t.Errorf("%+v is not another shape", r.shape)
				}
				w.shape = r.shape
				p := start(w, idle(t))
				if got := p.visits.next(p.visits.latest()); got.count == 0 {
					t.Error("no unit of work is done")
				}
				if err := p.end(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for name := range rebuilds {
		if !known[name] {
			t.Errorf("%s: no such program", name)
		}
	}
}

// TestRebuild asks about one program, and builds it. What comes out is not judged.
func TestRebuild(t *testing.T) {
	var s settings
	s = s.replayed(true)
	s.recording, s.settle, s.structure = 300*time.Millisecond, 0, true
	s.builds, s.built = 1, 100*time.Millisecond
	for _, w := range replayedWorkloads(plainTypes) {
		if w.name != "pipeline" {
			continue
		}
		l := newLab(w, s)
		if err := l.rebuild(&tally{}); err != nil {
			t.Fatal(err)
		}
		for _, c := range l.result.Rebuilt {
			t.Log(c.line())
			if math.IsNaN(c.Actual.Value) {
				t.Errorf("%s: not measured", c.line())
			}
		}
		if n := len(rebuilds[w.name]); len(l.result.Rebuilt) != n {
			t.Errorf("%d answers, want %d", len(l.result.Rebuilt), n)
		}
	}
}

package main

import (
	"math"
	"testing"
	"time"

	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/noise"
)

// TestRebuilds runs each program as it is built in each way that is asked about.
func TestRebuilds(t *testing.T) {
	workloads.Calibrate()
	known := map[string]bool{}
	for _, w := range workloads.ReplayedWorkloads(workloads.PlainTypes) {
		known[w.Name] = true
		for _, r := range rebuilds[w.Name] {
			t.Run(w.Name+"/"+r.name, func(t *testing.T) {
				if r.shape == r.usual {
					t.Errorf("%+v is not another shape", r.shape)
				}
				w.Shape = r.shape
				p := workloads.Start(w, idle(t))
				if got := p.Visits.Next(p.Visits.Latest()); got.Count == 0 {
					t.Error("no unit of work is done")
				}
				if err := p.End(); err != nil {
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
	for _, w := range workloads.ReplayedWorkloads(workloads.PlainTypes) {
		if w.Name != "pipeline" {
			continue
		}
		l := newLab(w, s)
		if err := l.rebuild(&noise.Tally{}); err != nil {
			t.Fatal(err)
		}
		for _, c := range l.result.Rebuilt {
			t.Log(c.line())
			if math.IsNaN(c.Actual.Value) {
				t.Errorf("%s: not measured", c.line())
			}
		}
		if n := len(rebuilds[w.Name]); len(l.result.Rebuilt) != n {
			t.Errorf("%d answers, want %d", len(l.result.Rebuilt), n)
		}
	}
}

func TestUnsteady(t *testing.T) {
	for _, c := range []struct {
		name  string
		alike []float64
		want  bool
	}{
		{"alike", []float64{-1, 0, 1, 2}, false},
		{"one apart", []float64{-1, 0, 1, -30}, false},
		{"two apart", []float64{-9, 0, 1, 12}, true},
		{"three, one apart", []float64{0, 1, 12}, true},
	} {
		l := &lab{}
		for _, v := range c.alike {
			l.null = append(l.null, reading{reduction: v})
		}
		if got := l.unsteady(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

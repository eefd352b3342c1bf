package replay

import (
	"math"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestMarksThatMissAreLeft has a goroutine receive each 2 ms what another one sends, of which every
// second mark is lost: by its marks it would wait twice as long. The waits alone meet the
// recording.
func TestMarksThatMissAreLeft(t *testing.T) {
	const receiver, sender, channel, rounds = 1, 2, 7, 300
	b := trace.NewRecorder(0, 2)
	b.Running(0, receiver)
	b.Running(0, sender)
	b.Place(3)
	for site, frames := range [][]trace.Frame{1: {{Func: "runtime.chanrecv1"}, {Func: "main.receive"}}, 2: {{Func: "time.Sleep"}, {Func: "main.send"}}, 3: {{Func: "runtime.chansend1"}, {Func: "main.send"}}} {
		b.R.Sites[site].Frames = frames
	}
	waits := func(at, g int64, site, reason int32) {
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Site: site, Arg: reason})
	}
	for i := range int64(rounds) {
		at := 2 * ms * i
		b.Operate(at+10, receiver, 'R', channel, 0)
		waits(at+11, receiver, 1, trace.WaitReceive)
		waits(at+20, sender, 2, trace.WaitTimer)
		b.Ready(at+2*ms-1000, sender, -1)
		b.Start(at+2*ms-900, sender, 1)
		b.Ready(at+2*ms-800, receiver, sender)
		b.R.Events[len(b.R.Events)-1].Site = 3
		if i%2 == 0 {
			b.Operate(at+2*ms-790, sender, 's', channel, 0)
		}
		b.Start(at+2*ms-700, receiver, 0)
		b.Operate(at+2*ms-600, receiver, 'r', channel, 0)
		b.Visit(at+2*ms-500, receiver, "done")
	}
	study, err := NewStudy(StudyConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := study.Add(t.Context(), recorded(t, b, 2*ms*rounds)); err != nil {
		t.Fatal(err)
	}
	w := study.windows[0]
	if c := w.checks["done"]; !c.Met() || math.IsNaN(c.Deviation) || !w.stock {
		t.Errorf("self-check %+v, stock %v, want one that is met without marks", c, w.stock)
	}
}

// TestMarksStay: a replay that keeps an order meets its recording in any case, so that marks which
// nearly meet it come first.
func TestMarksStay(t *testing.T) {
	for name, tt := range map[string]struct {
		marked, stock, ordered float64
		want                   bool
	}{
		"nearer with marks":              {0.04, 0.05, 0, true},
		"nearer without":                 {0.04, 0.01, 0, false},
		"nearer by an order":             {0.04, 0.01, 0.5, true},
		"far off, and nearer by one":     {0.2, 0.01, 0.5, false},
		"stopped with marks":             {math.Inf(1), 0.3, 0.5, false},
		"stopped with marks and without": {math.Inf(1), math.Inf(1), 0, true},
	} {
		if got := marksStay(tt.marked, tt.stock, tt.ordered); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

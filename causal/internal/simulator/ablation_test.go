package simulator

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// ablations are predictions for a speed-up of a half with one rule less.
var ablations = []struct {
	rule    string
	without Rules
	program string
	run     func(w *World)
	period  int64
	config  Config
	least   float64 // error without the rule, points; 0 where the rule does no harm and no good
}{
	{"hand-over", Handover, "mutex", mutexes(8, 10*ms, 2*ms, false), 2 * ms, Config{}, 0},
	{"hand-over", Handover, "join", join(Region, Other), 10 * ms, Config{}, 0},
	{"hand-over", Handover, "by turns", endless, 10 * ms, Config{}, 20},
	{"stamps", Stamps, "by turns", endless, 10 * ms, Config{}, 0},
	{"stamps without a wait", FreeHandover, "slow consumer", slowConsumer, 10 * ms, Config{}, 0},
	{"stamps of free places", Slots, "slow producer", slowProducer, 10 * ms, Config{}, 0},
	{"inheritance", Inheritance, "fan-out", fanOut(1, false), 14 * ms, Config{}, 20},
	{"implied waits", Implied, "fan-out, not told", fanOut(1, true), 14 * ms, Config{}, 20},
	{"payment before a lock is given back", PayFirst, "mutex, ±50 %", mutexes(8, 10*ms, 2*ms, false), 2 * ms, Config{Jitter: .5}, 0},
	{"payment until none is owed", PayAgain, "mutex, ±50 %", mutexes(8, 10*ms, 2*ms, false), 2 * ms, Config{Jitter: .5}, 0},
	{"payment until none is owed", PayAgain, "fan-out of six, ±50 %", fanOut(6, false), 14 * ms / 6, Config{Jitter: .5}, 0},
	{"prepayment", Prepayment, "mutex, time.Sleep", mutexes(8, 10*ms, 2*ms, false), 2 * ms, Config{Pay: TimeSleep}, 20},
}

// slowConsumer has a consumer that never waits, but would if it were faster.
var slowConsumer = stages(4, func(g *Goroutine) {
	g.Span(Other, func() { g.IO(7 * ms) })
}, func(g *Goroutine) {
	g.Span(Point, func() { g.Span(Region, func() { g.IO(10 * ms) }) })
})

// slowProducer has a producer that never waits, but would if it were faster.
var slowProducer = stages(4, func(g *Goroutine) {
	g.Span(Point, func() { g.Span(Region, func() { g.IO(10 * ms) }) })
}, func(g *Goroutine) {
	g.Span(Other, func() { g.IO(7 * ms) })
})

// TestAblation shows what each rule is there for: how far a prediction is off without it.
func TestAblation(t *testing.T) {
	var b strings.Builder
	b.WriteString("Error without the rule, points:\n\n| rule | program | error |\n|---|---|---|\n")
	for _, a := range ablations {
		a.config.Seed = 1
		if a.config.Pay == Exactly {
			a.config.Pay = Timer
		}
		x := &Experiment{Program: a.run, Config: a.config, Warm: 100 * a.period, End: 1500 / scale * a.period}
		h := ledger.Hypothesis{Region: Region, Speedup: .5}
		truth := x.Shortened(h)
		x.Config.Without = a.without
		prediction, _, err := x.Overlap(h)
		if err != nil {
			t.Fatal(err)
		}
		e := points(prediction - truth)
		fmt.Fprintf(&b, "| %s | %s | %.1f |\n", a.rule, a.program, tenths(e))
		if math.Abs(e) < a.least {
			t.Errorf("without %s, %s: off by %.1f points, want at least %g: what is the rule for?", a.rule, a.program, e, a.least)
		}
	}
	t.Log(b.String())
}

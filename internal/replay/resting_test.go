package replay

import (
	"bytes"
	"runtime"
	"runtime/trace"
	"slices"
	"strconv"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
)

// What reads a trace of itself is asked to rest throughout, not between steps that take long.
func TestReadingRests(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip(err)
	}
	c := make(chan int)
	go func() {
		defer close(c)
		for i := range 5000 {
			c <- i
		}
	}()
	for range c {
		runtime.Gosched()
	}
	trace.Stop()
	rests := 0
	rec, err := replaytrace.ReadResting(&b, func() error { rests++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if least := rec.Traced/128 - 1; rests < least || least < 10 {
		t.Errorf("%d rests in %d events, want %d", rests, rec.Traced, least)
	}
}

func TestAnalysisRests(t *testing.T) {
	rec := loops(t, 2000)
	rests := 0
	rec.Rest = func() error { rests++; return nil }
	s, err := NewStudy(StudyConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), slices.Collect(rec.Windows(2))[0]); err != nil {
		t.Fatal(err)
	}
	// Each speed-up is a simulation, which takes a step for each visit at least.
	inAll := rests
	if s.Result(); rests == inAll {
		t.Error("no rest in the result")
	}
	rests = inAll
	simulations := len(usualSpeedups) * len(s.windows[0].regions)
	if least := (simulations + 1) * Visits(rec) / 2 / 512; rests < least || least < 10 {
		t.Errorf("%d rests in %d simulations of %d visits, want %d", rests, simulations, Visits(rec)/2, least)
	}
}

// named is a recording of requests one after the other, whose spans have the names in turn.
func named(t *testing.T, requests, names int) *replaytrace.Recording {
	t.Helper()
	const ms = 1_000_000
	b := replaytrace.NewRecorder(0, 2)
	b.Running(0, 1)
	at := int64(0)
	for i := range requests {
		b.Open(at, 1, uint64(i+1), 0, replaytrace.Region{Name: "GET /" + strconv.Itoa(i%names)})
		at += 2 * ms
		b.Close(at, 1, uint64(i+1))
		b.Wait(at, 1, 1)
		at += 3 * ms
		b.Ready(at, 1, -1)
		b.Start(at, 1, 0)
	}
	return recorded(t, b, at)
}

// Rests are counted in place of time: there is one for each 512 steps, so that many of them are
// much work, and none is a long stretch.

func TestPausesOfManyNames(t *testing.T) {
	const requests, names = 4000, 200
	p := infer.NewProgram(named(t, requests, names), true)
	asked := p.Lists[0].Ops // one of its waits is for a timer
	asked[slices.IndexFunc(asked, func(o model.Op) bool { return o.Kind == model.OpOut && o.Site != 0 })].Reason = replaytrace.WaitTimer
	rests := 0
	p.Rec.Rest = func() error { rests++; return nil }
	doubt.Pauses(p)
	ops := 0
	for i := range p.Lists {
		ops += len(p.Lists[i].Ops)
	}
	if len(p.Points) != names {
		t.Fatalf("%d progress points, want one for each of %d names", len(p.Points), names)
	}
	// Two walks, and a look at each progress point.
	if least, most := ops/512, 2*(ops/512+1)+names; rests < least || rests > most {
		t.Errorf("%d rests in %d ops with %d progress points, want in [%d, %d]", rests, ops, names, least, most)
	}
}

// Where each request has a name of its own there is no answer, and nothing is simulated for one.
func TestAnalysisOfNamesThatDoNotComeAgain(t *testing.T) {
	for _, tt := range []struct {
		names   int
		answers bool
	}{{1, true}, {2000, false}} {
		rec := named(t, 2000, tt.names)
		rests := 0
		rec.Rest = func() error { rests++; return nil }
		s, err := NewStudy(StudyConfig{Structure: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		most := len(rec.Events)/512 + 1 // one pass
		if result := s.Result(); (len(result.Answers) > 0) != tt.answers || result.Windows != 1 || (rests > most+len(result.Answers)) != tt.answers {
			t.Errorf("%d names: %d answers from %d windows with %d rests in %d events, want answers: %t", tt.names, len(result.Answers), result.Windows, rests, len(rec.Events), tt.answers)
		}
	}
}

package replay

import (
	"bytes"
	"runtime"
	"runtime/trace"
	"testing"
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
	rec, err := ReadResting(&b, func() { rests++ })
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
	rec.rest = func() { rests++ }
	s, err := NewStudy(StudyConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(t.Context(), rec.Split(2)[0]); err != nil {
		t.Fatal(err)
	}
	// Each speed-up is a simulation, which takes a step for each visit at least.
	inAll := rests
	if s.Result(); rests == inAll {
		t.Error("no rest in the result")
	}
	rests = inAll
	simulations := len(usualSpeedups) * len(s.windows[0].regions)
	if least := (simulations + 1) * rec.Visits() / 2 / 512; rests < least || least < 10 {
		t.Errorf("%d rests in %d simulations of %d visits, want %d", rests, simulations, rec.Visits()/2, least)
	}
}

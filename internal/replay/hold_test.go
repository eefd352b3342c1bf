package replay

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Holds behind spans cost what they would cost the program: nothing where others wait for what has
// been given back by then.
func TestHold(t *testing.T) {
	work, locked := trace.Region{Name: "work"}, trace.Region{Name: "locked"}
	for name, tt := range map[string]struct {
		rec    *trace.Recording
		region trace.Region
		want   float64 // elasticity
	}{
		"a fifth of a loop":             {loops(t, 400), work, 0.2},
		"within the lock":               {contending(t, true), locked, 1},
		"behind the lock":               {contending(t, false), locked, 0},
		"a region that is not recorded": {loops(t, 400), trace.Region{Name: "other"}, math.NaN()},
	} {
		s, err := NewStudy(StudyConfig{})
		if err != nil {
			t.Fatal(err)
		}
		levels := []float64{0.1, 0.3}
		s.Hold(levels, []trace.Region{tt.region})
		for w := range tt.rec.Windows(3) {
			if err := s.Add(context.Background(), w); err != nil {
				t.Fatal(err)
			}
		}
		found := 0
		for _, a := range s.Result().Answers {
			if !a.Held || a.Metric != Throughput || a.Point != "done" {
				continue
			}
			found++
			if got := a.Reduction / a.Speedup; a.Region != tt.region || a.Withheld != WithheldNone || math.Abs(got-tt.want) > 0.04 {
				t.Errorf("%s: %+v: elasticity %.3f, want %.3f", name, a, got, tt.want)
			}
		}
		if want := len(levels); !math.IsNaN(tt.want) && found != want || math.IsNaN(tt.want) && found > 0 {
			t.Errorf("%s: %d answers of slow-downs", name, found)
		}
	}
}

// Each span is held for a part of its own time, without that of spans within it: of two that take
// turns, 1 and 5 ms, in one region.
func TestOwnTimes(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	at := int64(0)
	work, part := trace.Region{Name: "work"}, trace.Region{Name: "part"}
	for i := range uint64(40) {
		b.Open(at, 1, 2*i+1, 0, work)
		at += ms + int64(i%2)*4*ms
		b.Open(at, 1, 2*i+2, 2*i+1, part)
		at += 2 * ms
		b.Close(at, 1, 2*i+2)
		b.Close(at, 1, 2*i+1)
		b.Visit(at, 1, "done")
		b.Wait(at, 1, 1)
		at += ms
		b.Ready(at, 1, -1)
		b.Start(at, 1, 0)
	}
	p := infer.NewProgram(recorded(t, b, at), true)
	times, rest := ownTimes(p)
	for span, of := range times {
		want, region := model.Own{Run: 2 * ms}, p.Rec.Regions[p.Rec.Spans[span].Region]
		if region == work {
			want.Run = ms + int64(span/2%2)*4*ms
		}
		if of == nil || *of != want {
			t.Errorf("span %d of %s: %+v, want %+v", span, region.Name, of, want)
		}
	}
	if len(times) != 80 || slices.ContainsFunc(rest, func(l left) bool { return l.spans > 0 }) {
		t.Errorf("%d spans, and %+v besides", len(times), rest)
	}
}

// TestOwnTimesWithoutContention: waits that are regions of their own, see doubt.Contend, are of no
// span, be it one that is open or one from before the window.
func TestOwnTimesWithoutContention(t *testing.T) {
	const work, waits = 1, 2 // sets
	p := &model.Program{
		Rec:  &trace.Recording{Regions: []trace.Region{{Name: "work"}}, Spans: []trace.Span{{Parent: trace.None}, {Parent: trace.None}}},
		Sets: [][]int32{nil, {0}, {1}},
		Lists: []model.List{{Ops: []model.Op{
			{Kind: model.OpOut, Set: waits, D: 3},
			{Kind: model.OpRun, Set: work, D: 4},
			{Kind: model.OpClose, Arg: 0},
			{Kind: model.OpOpen, Arg: 1},
			{Kind: model.OpOut, Set: waits, D: 5},
			{Kind: model.OpOut, Set: work, D: 6},
			{Kind: model.OpClose, Arg: 1},
		}}},
	}
	times, rest := ownTimes(p)
	if len(rest) != 1 || rest[0].Own != (model.Own{Run: 4}) || *times[1] != (model.Own{Out: 6}) {
		t.Errorf("%+v and %+v, want 6 outside of the span, 4 before it", times[1], rest)
	}
}

// TestOwnTimesOfSpansThatEndElsewhere has one goroutine begin a span and work for it, and another
// one end it, while the first does something else.
func TestOwnTimesOfSpansThatEndElsewhere(t *testing.T) {
	b := trace.NewRecorder(0, 2)
	b.Running(0, 1)
	b.Running(0, 2)
	at := int64(0)
	for i := range uint64(20) {
		b.Open(at, 1, i+1, 0, trace.Region{Name: "request"})
		at += 2 * ms
		b.Visit(at, 1, "handed over")
		b.Close(at+ms/10, 2, i+1)
		at += 5 * ms
		b.Visit(at, 1, "done")
	}
	times, rest := ownTimes(infer.NewProgram(recorded(t, b, at), true))
	for span, of := range times {
		if of == nil || of.Run < 2*ms || of.Run > 2*ms+ms/10 {
			t.Errorf("span %d: %+v, want 2 ms of computing", span, of)
		}
	}
	if len(times) != 20 || rest[0].spans != 0 {
		t.Errorf("%d spans, and %+v besides", len(times), rest)
	}
}

// What is asked besides changes no other answer.
func TestHoldLeavesOtherAnswers(t *testing.T) {
	answers := func(held ...trace.Region) (all []Answer) {
		s, err := NewStudy(StudyConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s.Hold([]float64{0.1}, held)
		for w := range contended(t).Windows(3) {
			if err := s.Add(context.Background(), w); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range s.Result().Answers {
			if !a.Held {
				all = append(all, a)
			}
		}
		return all
	}
	with, without := answers(trace.Region{Name: "locked"}), answers()
	if len(with) != len(without) || len(with) == 0 {
		t.Fatalf("%d answers, without slow-downs %d", len(with), len(without))
	}
	for i := range with {
		if a, b := with[i], without[i]; a.Reduction != b.Reduction || a.Lo != b.Lo || a.Hi != b.Hi || a.Withheld != b.Withheld {
			t.Errorf("%+v, without slow-downs %+v", a, b)
		}
	}
}

// A goroutine that works on its own does less for each visit of another when it is slower.
func TestHoldReroutes(t *testing.T) {
	b := trace.NewRecorder(0, 4)
	b.Running(0, 1)
	b.Running(0, 2)
	work := trace.Region{Name: "work"}
	for i := range int64(400) {
		at := i * 2 * ms
		b.Open(at, 2, uint64(i+1), 0, work)
		b.Visit(at+ms, 1, "done")
		b.Close(at+2*ms-1, 2, uint64(i+1))
	}
	s, err := NewStudy(StudyConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s.Hold([]float64{0.3}, []trace.Region{work})
	for w := range recorded(t, b, 800*ms).Windows(3) {
		if err := s.Add(context.Background(), w); err != nil {
			t.Fatal(err)
		}
	}
	found := false
	for _, a := range s.Result().Answers {
		if a.Held && a.Metric == Throughput && a.Point == "done" {
			found = true
			if want := 1/1.3 - 1; math.Abs(a.Rerouted-want) > 0.01 || math.Abs(a.Reduction) > 0.01 {
				t.Errorf("%+v: rerouted by %.3f, want %.3f, and no visit later", a, a.Rerouted, want)
			}
		}
	}
	if !found {
		t.Error("no slow-down")
	}
}

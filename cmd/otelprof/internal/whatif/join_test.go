package whatif

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// calls are recordings of a second of a client that sends so many requests, and of its server.
func calls(t *testing.T, n int) (client, server *trace.Recording) {
	t.Helper()
	a, b := trace.NewRecorder(0, 1), trace.NewRecorder(0, 1)
	a.Running(0, 1)
	b.Running(0, 1)
	for i := range n {
		at, id := 10_000_000*int64(i), uint64(2*i+1)
		a.Open(at, 1, id, 0, trace.Region{Name: "call"})
		a.R.Spans[i].ID = id
		b.Open(at+1_000_000, 1, id+1, 0, trace.Region{Name: "serve"})
		b.R.Spans[i].ID, b.R.Spans[i].Remote = id+1, id
		b.Close(at+2_000_000, 1, id+1)
		a.Close(at+3_000_000, 1, id)
	}
	return recorded(t, a), recorded(t, b)
}

// recorded ends a recording after a second.
func recorded(t *testing.T, b *trace.Recorder) *trace.Recording {
	t.Helper()
	return b.Recording(1_000_000_000)
}

// A process that is gone, and one that no request joins to the others, leave an answer of these;
// of traces each must be there.
func TestTogetherLeavesOut(t *testing.T) {
	for scheme, want := range map[string][]string{"http://": {"http://gone:1", "http://silent:1"}, "": nil} {
		shop, stock := calls(t, 100)
		silent := trace.NewRecorder(0, 1)
		silent.Running(0, 1)
		recs := map[string]*trace.Recording{"shop": shop, "gone": nil, "silent": recorded(t, silent), "stock": stock}
		var names, left []string
		for _, name := range []string{"shop", "gone", "silent", "stock"} {
			if scheme != "" {
				name = scheme + name + ":1"
			}
			names = append(names, name)
		}
		rec, err := together(names, func(name string) (*trace.Recording, error) {
			if r := recs[strings.TrimSuffix(strings.TrimPrefix(name, "http://"), ":1")]; r != nil {
				return r, nil
			}
			return nil, errors.New("refused")
		}, func(name string, _ error) { left = append(left, name) })
		if diff := cmp.Diff(want, left); diff != "" {
			t.Errorf("%q: left out (-want +got):\n%s", names, diff)
		}
		if scheme == "" {
			if err == nil || err.Error() != "gone: refused" {
				t.Errorf("%q: %v, want the one that is gone", names, err)
			}
			continue
		}
		if err != nil || len(rec.Processes) != 2 {
			t.Errorf("%q: %v, want two that are joined", names, err)
		}
	}
}

// A program that ends before its next recording leaves what the one before has shown.
func TestNoFurtherRecording(t *testing.T) {
	first, _ := calls(t, 5) // which are too few for an answer
	traces := []traceSource{
		{"shop", func() (*trace.Recording, error) { return first, nil }},
		{"shop", func() (*trace.Recording, error) { return nil, errors.New("refused") }},
	}
	w := whatif{Call: &command.Call{Stdout: io.Discard, Stderr: io.Discard}}
	p, err := w.simulate(t.Context(), traces, 1)
	if err != nil || !strings.Contains(strings.Join(p.Notes, "\n"), "shop: no further recording: refused") {
		t.Errorf("simulate() = %q, %v; want a note", p.Notes, err)
	}
}

// Two services have spans "query" of one scope, which are one region: a note names it, and no
// region of one process.
func TestSharedRegionsAreNamed(t *testing.T) {
	rec := &trace.Recording{
		Regions: []trace.Region{{Scope: "sql", Name: "query"}, {Scope: "shop", Name: "price"}},
		Spans:   []trace.Span{{Region: 0}, {Region: 1}, {Region: 1}, {Region: 0}, {Region: 0}},
		Count:   3,
	}
	for i, g := range []int32{0, 0, 1, 2, 2} {
		rec.Events = append(rec.Events, trace.Event{Kind: trace.EvOpen, G: g, Ref: int32(i)}, trace.Event{Kind: trace.EvClose, G: g, Ref: int32(i)})
	}
	if notes := sharedBy(rec); notes != nil {
		t.Errorf("of one process: %q", notes)
	}
	rec.Processes = []trace.Process{{Name: "shop", Goroutines: 2}, {Name: "stock", Goroutines: 3}}
	want := []string{`spans of one scope and name are one region, though of several processes: "query"`}
	if diff := cmp.Diff(want, sharedBy(rec)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

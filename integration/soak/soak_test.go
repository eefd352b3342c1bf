package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Each plan that is drawn is valid and within the caps.
func TestRandomPlansAreValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 500 {
		p, life, err := randomPlan(rng, n)
		if err != nil {
			t.Fatal(err)
		}
		if l := p.Limits; l.PerSpan > caps.PerSpan || l.PerTrace > caps.PerTrace || l.PerSpan > l.PerTrace || l.Duty > caps.Duty || life < time.Second {
			t.Fatalf("plan %+v lives for %v", l, life)
		}
	}
}

// A claim that is broken once fails, and one of which nothing was seen does.
func TestReport(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*books, *watch)
		want   string // the claim that does not hold
	}{
		"all hold":              {func(*books, *watch) {}, ""},
		"a request":             {func(b *books, _ *watch) { b.requests.see(2, 1) }, "per_trace"},
		"a health check":        {func(b *books, _ *watch) { b.health.see(1, 0) }, "health"},
		"100 ms":                {func(_ *books, w *watch) { w.duty.see(2, 1) }, "duty"},
		"no stream":             {func(b *books, _ *watch) { b.streams = tally{} }, "streams"},
		"nothing was delayed":   {func(_ *books, w *watch) { w.spent = 0 }, "work"},
		"a plan spent too much": {func(_ *books, w *watch) { w.total.see(3, 2) }, "total"},
	} {
		b, w := newBooks(func() lateness { return lateness{} }), &watch{spent: 1, experiments: 1}
		for range 200 {
			for _, c := range []*tally{&b.requests, &b.streams, &b.health, &b.idle, &w.duty, &w.total} {
				c.see(0, 0)
			}
		}
		tt.change(b, w)
		var out bytes.Buffer
		held := report(&out, b, w, &memory{heap: []uint64{1}, goroutines: []int{1}})
		if held != (tt.want == "") || tt.want != "" && !strings.Contains(out.String(), "claim="+tt.want+" ok=false") {
			t.Errorf("%s: held %t:\n%s", name, held, out.String())
		}
	}
}

// All answers count, also of a soak that has many.
func TestClientsCountAllAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	c, err := newClients()
	if err != nil {
		t.Fatal(err)
	}
	c.url = server.URL
	if !c.ask(t.Context(), server.Client(), "busy", "/front") {
		t.Error("an answer counts as a failure")
	}
	c.latencies["busy"].RecordN(uint64(3*time.Millisecond), 30_000)
	var out bytes.Buffer
	if c.tell(&out); !strings.HasPrefix(out.String(), "# clients busy: 30001 answers, median ") {
		t.Errorf("%q, want 30001 answers", out.String())
	}
}

// What grows is found, and one look that is unlike others is not taken for growth.
func TestMemory(t *testing.T) {
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		heap       []uint64
		goroutines []int
		flat       bool
	}{
		"nothing was seen":    {nil, nil, false},
		"flat":                {[]uint64{20 * mib, 21 * mib, 20 * mib}, []int{60, 65, 58}, true},
		"one is large":        {[]uint64{20 * mib, 20 * mib, 20 * mib, 20 * mib, 20 * mib, 20 * mib, 20 * mib, 20 * mib, 40 * mib}, []int{1, 1, 1, 1, 1, 1, 1, 1, 1}, true},
		"the heap grows":      {[]uint64{20 * mib, 23 * mib, 26 * mib}, []int{60, 60, 60}, false},
		"goroutines are left": {[]uint64{20 * mib, 20 * mib, 20 * mib}, []int{60, 100, 140}, false},
	} {
		if m := (&memory{heap: tt.heap, goroutines: tt.goroutines}); m.flat() != tt.flat {
			t.Errorf("%s: flat = %t, want %t: %v", name, m.flat(), tt.flat, m)
		}
	}
}

func TestFlags(t *testing.T) {
	if err := run(t.Context(), []string{"-for", "1ms"}, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || errors.Is(err, errBroken) {
		t.Errorf("run for 1 ms = %v, want an error about the flag", err)
	}
}

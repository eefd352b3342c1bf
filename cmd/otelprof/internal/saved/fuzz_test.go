package saved_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
	"github.com/otelprof/otelprof/spans"
)

// FuzzRead checks that no file makes the reader panic, that trees are trees, and that self times
// are within durations.
func FuzzRead(f *testing.F) {
	collector, err := os.ReadFile(filepath.Join("testdata", "collector.json"))
	if err != nil {
		f.Fatal(err)
	}
	a := line("1", "1", "", "a", 0, 10)
	for _, text := range []string{
		string(collector), a + a[:50], a[:50] + "\n" + a, `{"resourceMetrics":[]}`, `{"api":"causal-profile/v1"}`, "#[Histogram log",
		"experiment\tselected=x\tspeedup=0\tduration=1\nthroughput-point\tname=y\tdelta=1\n", "\x1f\x8b", "\x0a\x04\x08\x01\x10\x02",
		line("1", "2", "3", "b", 1, 2) + line("1", "3", "2", "c", 1, 2), `{"resourceSpans":[{}],"x":"\"}"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := saved.NewReader(saved.WithMaxSessions(3))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Read(t.Context(), "x", strings.NewReader(string(text))); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		checkData(t, r.Data())
	})
}

type failer interface{ Errorf(string, ...any) }

func checkData(t failer, d *saved.Data) {
	for _, s := range d.Store.Sessions(spans.Query{}) {
		if !s.ID.IsValid() || s.Duration < 0 {
			t.Errorf("session %s of %v", s.ID, s.Duration)
		}
		for i, x := range s.Spans {
			switch {
			case x.Parent >= i || x.Parent < -1:
				t.Errorf("span %d has parent %d, want one before it", i, x.Parent)
			case x.Parent < 0 && x.Depth != 0, x.Parent >= 0 && x.Depth != s.Spans[x.Parent].Depth+1:
				t.Errorf("span %d below %d has depth %d", i, x.Parent, x.Depth)
			case x.SelfTime < 0 || x.SelfTime > x.Duration:
				t.Errorf("span %d has %v of its own in %v", i, x.SelfTime, x.Duration)
			}
		}
	}
}

// TestTreeProperties reads random traces in random order, and compares self times with what
// counting each millisecond gives.
func TestTreeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type interval struct{ parent, from, to int }
		n := rapid.IntRange(1, 12).Draw(t, "spans")
		all := make([]interval, n)
		lines := make([]string, n)
		for i := range all {
			x := interval{parent: -1, from: rapid.IntRange(0, 50).Draw(t, "from")}
			parent := ""
			if i > 0 {
				x.parent = rapid.IntRange(0, i-1).Draw(t, "parent")
				parent = fmt.Sprintf("%x", x.parent+1)
			}
			x.to = x.from + rapid.IntRange(0, 50).Draw(t, "length")
			all[i], lines[i] = x, line("1", fmt.Sprintf("%x", i+1), parent, fmt.Sprint(i), x.from, x.to)
		}
		lines = rapid.Permutation(lines).Draw(t, "order")
		r, err := saved.NewReader()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Read(t.Context(), "t.jsonl", strings.NewReader(strings.Join(lines, ""))); err != nil {
			t.Fatal(err)
		}
		d := r.Data()
		checkData(t, d)
		s := d.Store.Sessions(spans.Query{})[0]
		for _, x := range s.Spans {
			var i, self int
			if _, err := fmt.Sscan(x.Name, &i); err != nil {
				t.Fatal(err)
			}
			for ms := all[i].from; ms < all[i].to; ms++ {
				covered := false
				for _, child := range all {
					covered = covered || child.parent == i && child.from <= ms && ms < child.to
				}
				if !covered {
					self++
				}
			}
			if x.SelfTime != time.Duration(self)*time.Millisecond {
				t.Errorf("span %d: self time %v, want %d ms", i, x.SelfTime, self)
			}
			if x.Parent >= 0 && s.Spans[x.Parent].Name != fmt.Sprint(all[i].parent) {
				t.Errorf("span %d is below %s, want %d", i, s.Spans[x.Parent].Name, all[i].parent)
			}
		}
	})
}

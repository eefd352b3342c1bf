package replay

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

var errOver = errors.New("over")

// over returns a rest that ends the work when it is called for the n-th time, and how often it has
// been called.
func over(n int) (rest func() error, calls *int) {
	calls = new(int)
	return func() error {
		if *calls++; *calls >= n {
			return errOver
		}
		return nil
	}, calls
}

// Each call of rest is after 50 µs or so of work, so that one that ends the work is the last.
func TestReadingEndsWhenNothingWantsIt(t *testing.T) {
	text := traceDuring(t, func() {
		side(2, func(int) {
			p := stockProgram{}
			for range 5000 {
				p.end(p.begin("request"))
			}
		})
	})
	for _, n := range []int{1, 2, 20} {
		rest, calls := over(n)
		if _, err := trace.ReadResting(bytes.NewReader(text), rest); !errors.Is(err, errOver) || *calls != n {
			t.Errorf("ended at rest %d: %v after %d", n, err, *calls)
		}
	}
}

func TestAnalysisEndsWhenNothingWantsIt(t *testing.T) {
	rec := loops(t, 2000)
	all := 0
	analysed := func(rest func() error) error {
		rec.Rest = rest
		s, err := NewStudy(StudyConfig{Structure: true})
		if err != nil {
			t.Fatal(err)
		}
		return s.Add(t.Context(), rec)
	}
	if err := analysed(func() error { all++; return nil }); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= all; n += max(1, all/50) {
		rest, calls := over(n)
		if err := analysed(rest); !errors.Is(err, errOver) || errors.Is(err, trace.ErrTrace) || *calls != n {
			t.Errorf("ended at rest %d of %d: %v after %d", n, all, err, *calls)
		}
	}
	rec.Rest = func() error { return context.Canceled }
	if err := trace.Contain(func() { _ = slices.Collect(rec.Windows(3)) }); !errors.Is(err, context.Canceled) {
		t.Errorf("Split = %v, want %v", err, context.Canceled)
	}
}

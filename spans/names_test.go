package spans

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// One name is one region wherever its text is, and so are the names that meet at one place.
func TestNamesAreKnownByTheirText(t *testing.T) {
	tp := WrapTracerProvider(nil)
	defer tp.Shutdown(t.Context())
	one, other := tp.Tracer("one"), tp.Tracer("other")
	names := make([]string, 3*constantPlaces)
	for i := range names {
		names[i] = fmt.Sprint("name ", i)
	}
	const rounds = 4
	for range rounds {
		for _, name := range names {
			for _, text := range []string{name, strings.Clone(name)} {
				_, s := one.Start(context.Background(), text)
				s.End()
			}
			_, s := other.Start(context.Background(), name)
			s.End()
		}
	}
	counts := map[Region]uint64{}
	for _, r := range tp.Regions() {
		counts[Region{r.Scope, r.Name}] += r.Count
	}
	if len(counts) != 2*len(names) {
		t.Errorf("%d regions, want %d", len(counts), 2*len(names))
	}
	for r, n := range counts {
		want := uint64(rounds)
		if r.Scope.Name == "one" {
			want = 2 * rounds
		}
		if n != want {
			t.Errorf("%s %q: %d spans, want %d", r.Scope.Name, r.Name, n, want)
		}
	}
}

// Names beyond the limit stay beyond it.
func TestNamesBeyondTheLimitHaveNoPlace(t *testing.T) {
	tp := WrapTracerProvider(nil, WithMaxRegions(1))
	defer tp.Shutdown(t.Context())
	tr := tp.Tracer("scope")
	for range 3 {
		for _, name := range []string{"first", "second", "other"} {
			_, s := tr.Start(context.Background(), name)
			s.End()
		}
	}
	if got := tp.Dropped().RegionsFull; got != 6 {
		t.Errorf("%d spans beyond the limit, want 6", got)
	}
}

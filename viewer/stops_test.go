package viewer

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
)

// TestNoRequestStopsTheProgramForLong asks, among 100,000 goroutines, for all that is answered
// without a token, and looks at how long all goroutines were stopped meanwhile, but for garbage
// collections. A busy machine makes a stop longer: the least of some tries counts.
func TestNoRequestStopsTheProgramForLong(t *testing.T) {
	if !*thorough.Rounds {
		t.Skip("takes a minute: -long")
	}
	const n, tries, most = 100_000, 8, time.Millisecond
	h, recorder, id := running(t)
	quit := make(chan struct{})
	var all, begun sync.WaitGroup
	begun.Add(n)
	for range n {
		all.Go(func() { deep(10, func() { begun.Done(); <-quit }) })
	}
	begun.Wait()
	defer all.Wait()
	defer close(quit)

	values := strings.NewReplacer("{$}", "", "{name}", "app.mjs", "regions/distribution", "regions/distribution?name=work",
		"regions/stacks", "regions/stacks?name=work", "regions/schedule", "regions/schedule?name=work", "{id}", id, "{number}", "0", "/highrate", "/highrate?seconds=1")
	asked := 0
	table := h.table()
	for _, pattern := range slices.Sorted(maps.Keys(table)) {
		for method := range table[pattern] {
			path := values.Replace(pattern)
			if code := ask(t, h, method, path, "").code; code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusNotImplemented {
				t.Logf("%s %s: %d", method, path, code)
				continue
			}
			recorded := strings.HasSuffix(pattern, "/schedule")
			if recorded {
				if err := recorder.Start(); err != nil {
					testutil.Lacks(t, "TRACE", err.Error())
				}
			}
			asked++
			shortest, code := time.Duration(math.MaxInt64), 0
			for try := 0; try < tries && shortest > most; try++ {
				h.goroutines, h.profiles, h.splits = cached[goroutineLook]{}, cached[profile.Profile]{}, cached[*schedule.Report]{}
				shortest = min(shortest, testutil.LongestStop(t, func() { code = ask(t, h, method, path, "").code }))
			}
			t.Logf("%s %s: %d, stopped for %v at a time", method, path, code, shortest)
			if shortest > most {
				t.Errorf("%s %s: stopped for %v at a time, want at most %v", method, path, shortest, most)
			}
			if recorded {
				if err := recorder.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("%d requests are answered without a token, want 20 or more", asked)
	}
}

// running returns a handler of a program in which everything is on, its recorder, which is off, and
// a session.
func running(t *testing.T) (*Handler, *schedule.Recorder, string) {
	t.Helper()
	c, err := causal.NewController(causal.WithReplay(), causal.WithExperiments(plan.DefaultLimits()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := stacks.NewProfiler()
	if err != nil {
		t.Fatal(err)
	}
	r, err := schedule.NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	tp := spans.WrapTracerProvider(nil, spans.WithHook(c.Hook()), spans.WithHook(p.Hook()), spans.WithHook(r.Hook()))
	t.Cleanup(func() {
		for _, end := range []func(context.Context) error{tp.Shutdown, c.Shutdown, p.Shutdown, r.Shutdown} {
			if err := end(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	for range 1000 {
		_, span := tp.Tracer("test").Start(t.Context(), "work")
		span.End()
	}
	h, err := NewHandler(Sources{
		Regions: tp.Regions, Dropped: tp.Dropped, Store: tp.Store(), Causal: c, Stacks: p, Schedule: r,
	}, WithHosts("viewer.test"), WithToken(testToken))
	if err != nil {
		t.Fatal(err)
	}
	var sessions []*spans.SessionRecord
	if !testutil.Eventually(func() bool { sessions = tp.Store().Sessions(spans.Query{Limit: 1}); return len(sessions) > 0 }) {
		t.Fatal("no session was kept")
	}
	return h, r, sessions[0].ID.String()
}

//go:noinline
func deep(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	deep(n-1, f)
}

package compat_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// outcome is what one run of a program left behind.
type outcome struct {
	exported tracetest.SpanStubs
	// The rest is there for a wrapped provider only.
	regions  map[regionKey]tally
	stats    []spans.RegionStats
	sessions []*spans.SessionRecord
	dropped  spans.Dropped
}

// play runs the program on the SDK's provider, or on that provider wrapped.
func play(t *testing.T, sampler sdktrace.Sampler, wrap bool, program func(*service) error) outcome {
	t.Helper()
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter()
	base := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSyncer(exporter))
	if !wrap {
		s := newService(t, base)
		err := program(s)
		s.close(t)
		o := outcome{exported: exporter.GetSpans()}
		if err := errors.Join(err, base.Shutdown(ctx)); err != nil {
			t.Error(err)
		}
		return o
	}

	wrapped := spans.WrapTracerProvider(base)
	s := newService(t, wrapped)
	err := program(s)
	s.close(t)
	if err := errors.Join(err, wrapped.ForceFlush(ctx)); err != nil {
		t.Error(err)
	}
	o := outcome{
		exported: exporter.GetSpans(),
		regions:  map[regionKey]tally{},
		stats:    wrapped.Regions(),
		sessions: wrapped.Store().Sessions(spans.Query{}),
		dropped:  wrapped.Dropped(),
	}
	for _, r := range o.stats {
		if r.Count != 0 { // a name that was changed before its span ended counts nothing
			o.regions[regionKey{r.Scope.Name, r.Name}] = tally{r.Count, r.Errors}
		}
	}
	if err := wrapped.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	return o
}

// once sets the table up and visits every route once.
func once(s *service) error {
	return errors.Join(s.createTable(context.Background()), s.visit(context.Background()))
}

// onceSessions is the number of local roots of once: the table, the visit, the audit and a
// server span for each request.
const onceSessions = 3 + visitRequests

// mixed is a sampler under which one trace has all three kinds of spans: it leaves out
// statements and what is below them, and reservations record but are not exported.
type mixed struct{}

func (mixed) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	parent := trace.SpanContextFromContext(p.ParentContext)
	decision := sdktrace.RecordAndSample
	switch {
	case p.Name == "sql.conn.exec", parent.IsValid() && !parent.IsSampled():
		decision = sdktrace.Drop
	case p.Name == "reserve":
		decision = sdktrace.RecordOnly
	}
	return sdktrace.SamplingResult{Decision: decision, Tracestate: parent.TraceState()}
}

func (mixed) Description() string { return "mixed" }

func TestExportedSpansAreTheSame(t *testing.T) {
	for _, tc := range []struct {
		name    string
		sampler sdktrace.Sampler
		empty   bool
	}{
		{name: "sampled", sampler: sdktrace.AlwaysSample()},
		{name: "mixed", sampler: mixed{}},
		{name: "unsampled", sampler: sdktrace.NeverSample(), empty: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := play(t, tc.sampler, false, once)
			got := play(t, tc.sampler, true, once)
			if diff := cmp.Diff(forest(want.exported), forest(got.exported)); diff != "" {
				t.Errorf("exported spans, bare (-) and wrapped (+):\n%s", diff)
			}
			if empty := len(want.exported) == 0; empty != tc.empty {
				t.Errorf("the bare provider exported %d spans, want none: %v", len(want.exported), tc.empty)
			}
		})
	}
}

func TestRegionsCountEverySpan(t *testing.T) {
	// What the regions must say is what an SDK that samples everything exports, regardless of
	// the sampler of the provider under test.
	all := play(t, sdktrace.AlwaysSample(), false, once).exported
	want := tallies(all)
	for _, tc := range []struct {
		name    string
		sampler sdktrace.Sampler
	}{
		{"sampled", sdktrace.AlwaysSample()},
		{"mixed", mixed{}},
		{"unsampled", sdktrace.NeverSample()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := play(t, tc.sampler, true, once)
			if diff := cmp.Diff(want, got.regions); diff != "" {
				t.Errorf("regions (-want +got):\n%s", diff)
			}
			for _, r := range got.stats {
				if r.Count != 0 && (r.Durations == nil || r.Durations.Count() != r.Count) {
					t.Errorf("region %q has %d spans and another number of durations", r.Name, r.Count)
				}
				if r.Self > r.Total {
					t.Errorf("region %q: self time %v is more than total %v", r.Name, r.Self, r.Total)
				}
			}
			if got.dropped != (spans.Dropped{}) {
				t.Errorf("dropped %+v, want nothing", got.dropped)
			}
		})
	}
}

func TestSessionsHoldEverySpan(t *testing.T) {
	for _, tc := range []struct {
		name    string
		sampler sdktrace.Sampler
	}{
		{"sampled", sdktrace.AlwaysSample()},
		{"unsampled", sdktrace.NeverSample()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := play(t, tc.sampler, true, once)
			if len(got.sessions) != onceSessions {
				t.Errorf("%d sessions, want %d", len(got.sessions), onceSessions)
			}
			counted := map[regionKey]tally{}
			for _, s := range got.sessions {
				checkSession(t, s)
				for _, sp := range s.Spans {
					k := regionKey{sp.Scope.Name, sp.Name}
					c := counted[k]
					c.Count++
					if sp.Status == codes.Error {
						c.Errors++
					}
					counted[k] = c
				}
			}
			if diff := cmp.Diff(got.regions, counted); diff != "" {
				t.Errorf("spans in regions (-) and in sessions (+):\n%s", diff)
			}
		})
	}
}

// checkSession checks what holds for every finished session.
func checkSession(t *testing.T, s *spans.SessionRecord) {
	t.Helper()
	if !s.ID.IsValid() || s.Origin != s.ID {
		t.Errorf("session %q: ID %v, origin %v, want the same valid ID", s.Name, s.ID, s.Origin)
	}
	if s.Open != 0 || s.Dropped != 0 {
		t.Errorf("session %q: %d spans open, %d dropped, want none", s.Name, s.Open, s.Dropped)
	}
	for i, sp := range s.Spans {
		switch {
		case sp.Parent >= i:
			t.Errorf("session %q: span %d stands before its parent %d", s.Name, i, sp.Parent)
		case sp.Parent >= 0 && sp.Depth != s.Spans[sp.Parent].Depth+1:
			t.Errorf("session %q: span %d has depth %d below depth %d", s.Name, i, sp.Depth, s.Spans[sp.Parent].Depth)
		case sp.Parent < 0 && sp.Depth != 0:
			t.Errorf("session %q: root %d has depth %d", s.Name, i, sp.Depth)
		}
		if sp.SelfTime < 0 || sp.SelfTime > sp.Duration {
			t.Errorf("session %q: span %q: self time %v, duration %v", s.Name, sp.Name, sp.SelfTime, sp.Duration)
		}
	}
}

func TestExplicitSessionTakesTheVisit(t *testing.T) {
	program := func(s *service) error {
		if err := s.createTable(context.Background()); err != nil {
			return err
		}
		ctx, session := spans.StartSession(context.Background(), "nightly", attribute.String("batch", "7"))
		err := errors.Join(s.visit(ctx), s.visit(ctx))
		session.End()
		return err
	}
	got := play(t, sdktrace.AlwaysSample(), true, program)
	i := slices.IndexFunc(got.sessions, func(s *spans.SessionRecord) bool { return s.Name == "nightly" })
	if i < 0 {
		t.Fatalf("no session %q among %d", "nightly", len(got.sessions))
	}
	nightly := got.sessions[i]
	checkSession(t, nightly)
	visits := 0
	for _, sp := range nightly.Spans {
		if sp.Parent < 0 {
			visits++
			if sp.Name != "visit" {
				t.Errorf("root span %q, want %q", sp.Name, "visit")
			}
		}
	}
	if visits != 2 {
		t.Errorf("%d visits, want 2", visits)
	}
	if want := []attribute.KeyValue{attribute.String("batch", "7")}; !slices.Equal(nightly.Attributes, want) {
		t.Errorf("attributes %v, want %v", nightly.Attributes, want)
	}
}

func TestPanicIsRecordedAndGoesOn(t *testing.T) {
	got := play(t, sdktrace.AlwaysSample(), true, once)
	messages := map[string][]string{}
	for _, s := range got.exported {
		for _, e := range s.Events {
			if e.Name == "exception" && s.Name != "sql.conn.exec" { // a statement fails elsewhere
				set := attribute.NewSet(e.Attributes...)
				message, _ := set.Value("exception.message")
				messages[s.Name] = append(messages[s.Name], message.AsString())
			}
		}
	}
	want := map[string][]string{"pick": {errSoldOut.Error()}, "GET": {errSoldOut.Error()}}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Errorf("exceptions by span (-want +got):\n%s", diff)
	}
}

// TestClientFindsTheWrapper holds the promise that Span.TracerProvider is the wrapper: the
// client of the service has no other way to its provider.
func TestClientFindsTheWrapper(t *testing.T) {
	got := play(t, sdktrace.NeverSample(), true, once)
	var clients uint64
	for k, c := range got.regions {
		if strings.HasPrefix(k.Name, "HTTP ") {
			clients += c.Count
		}
	}
	if clients != visitRequests {
		t.Errorf("%d client spans measured, want %d", clients, visitRequests)
	}
}

func TestVisitsConcurrentSafe(t *testing.T) {
	const visitors, visits = 4, 3
	program := func(s *service) error {
		if err := s.createTable(context.Background()); err != nil {
			return err
		}
		errs := make([]error, visitors)
		var wg sync.WaitGroup
		for i := range visitors {
			wg.Go(func() {
				for range visits {
					errs[i] = errors.Join(errs[i], s.visit(context.Background()))
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	want := play(t, sdktrace.AlwaysSample(), false, program)
	got := play(t, sdktrace.AlwaysSample(), true, program)
	if diff := cmp.Diff(sortedNames(want.exported), sortedNames(got.exported)); diff != "" {
		t.Errorf("names of exported spans, bare (-) and wrapped (+):\n%s", diff)
	}
	if diff := cmp.Diff(tallies(got.exported), got.regions); diff != "" {
		t.Errorf("exported spans (-) and regions (+):\n%s", diff)
	}
	if want := 1 + visitors*visits*(onceSessions-1); len(got.sessions) != want {
		t.Errorf("%d sessions, want %d", len(got.sessions), want)
	}
	for _, s := range got.sessions {
		checkSession(t, s)
	}
}

package view

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	rtrace "runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/viewer"

	"go.opentelemetry.io/otel/trace/noop"
)

// savedShop is a program that has measured itself: the sessions and regions that it knew, and the
// folder that it has left.
type savedShop struct {
	dir      string
	sessions []*spans.SessionRecord
	regions  []spans.RegionStats
	counters []pmuattrs.RegionCounters
}

// openShop makes a few checkouts: siblings of one name, children side by side, one that ends late,
// an error with an event, and a delay of nothing.
func openShop(t *testing.T) savedShop {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	p, err := otelprof.Setup(ctx, otelprof.WithServiceName("shop"), otelprof.WithDataDir(dir), otelprof.WithoutGlobals(),
		otelprof.WithLogger(slog.New(slog.DiscardHandler)), otelprof.WithCounters(pmuattrs.WithSampling(1)))
	if err != nil {
		t.Fatal(err)
	}
	tracer := p.TracerProvider().Tracer("shop", trace.WithInstrumentationVersion("2"))
	began := time.Now().Add(-time.Hour)
	at := func(ms int) trace.SpanEventOption {
		return trace.WithTimestamp(began.Add(time.Duration(ms) * time.Millisecond))
	}
	for i := range 5 {
		base := 1000 * i
		ctx, root := tracer.Start(ctx, "checkout", at(base), trace.WithSpanKind(trace.SpanKindServer))
		for k := range 4 {
			_, s := tracer.Start(ctx, "SELECT price", at(base+10*k), trace.WithSpanKind(trace.SpanKindClient),
				trace.WithAttributes(attribute.String("sku", "a"), attribute.IntSlice("n", []int{1, 2})))
			s.End(at(base + 10*k + 8))
		}
		payCtx, pay := tracer.Start(ctx, "pay", at(base+50))
		_, side := tracer.Start(ctx, "audit", at(base+60))
		_, inner := tracer.Start(payCtx, "sign", at(base+55))
		inner.End(at(base + 65))
		pay.AddEvent("exception", at(base+66), trace.WithAttributes(attribute.String("exception.type", "Declined")))
		pay.SetStatus(codes.Error, "declined")
		pay.End(at(base + 70))
		root.End(at(base + 100 + i))
		side.End(at(base + 150)) // late
	}
	if err := p.TracerProvider().ForceFlush(ctx); err != nil {
		t.Fatal(err)
	}
	s := savedShop{dir: dir, sessions: p.TracerProvider().Store().Sessions(spans.Query{}), regions: p.TracerProvider().Regions()}
	if p.Counters() != nil {
		s.counters = p.Counters().Regions()
	}
	if err := p.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestViewIsAsLive compares what is read from a folder with what the program itself knew.
func TestViewIsAsLive(t *testing.T) {
	shop := openShop(t)
	r, err := saved.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = saved.EachFile([]string{shop.dir}, func(name string, in io.Reader) error {
		files++
		return (&savedReader{Reader: r}).read(t.Context(), name, in)
	})
	if err != nil || files < 2 {
		t.Fatalf("%d files, %v", files, err)
	}
	d := r.Data()

	got := d.Store.Sessions(spans.Query{})
	if len(got) != len(shop.sessions) {
		t.Fatalf("%d sessions, want %d", len(got), len(shop.sessions))
	}
	type span struct {
		Name, Scope, Version, Kind  string
		ID                          trace.SpanID
		Parent, Depth               int
		Start, Duration, Self       time.Duration
		Late                        bool
		Status                      string
		Attributes, Events, Message string
	}
	flat := func(s *spans.SessionRecord) (out []span) {
		text := func(kvs []attribute.KeyValue) string {
			set := attribute.NewSet(kvs...)
			return set.Encoded(attribute.DefaultEncoder())
		}
		for _, x := range s.Spans {
			events := ""
			for _, e := range x.Events {
				events += e.Name + "@" + e.Time.Round(time.Microsecond).String() + text(e.Attributes)
			}
			out = append(out, span{
				x.Name, x.Scope.Name, x.Scope.Version, x.Kind.String(), x.SpanID, x.Parent, x.Depth, x.Start, x.Duration, x.SelfTime,
				x.Late, x.Status.String(), text(x.Attributes), events, x.StatusText,
			})
		}
		return out
	}
	// The SDK's times and ours are read one after the other where the caller gives none.
	near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond })
	for i, want := range shop.sessions {
		if diff := cmp.Diff(flat(want), flat(got[i]), near); diff != "" {
			t.Errorf("session %d (-live +saved):\n%s", i, diff)
		}
		if got[i].Name != want.Name || got[i].TraceID != want.TraceID || got[i].Errors != want.Errors || got[i].Open != want.Open ||
			(got[i].Duration-want.Duration).Abs() > time.Microsecond {
			t.Errorf("session %d = %q, %v, %v, %d errors, %d open; want %q, %v, %v, %d, %d", i, got[i].Name, got[i].TraceID, got[i].Duration,
				got[i].Errors, got[i].Open, want.Name, want.TraceID, want.Duration, want.Errors, want.Open)
		}
	}
	checkRegions(t, d, shop.regions)
	checkCounters(t, d, shop.counters)
}

func checkCounters(t *testing.T, d *saved.Data, want []pmuattrs.RegionCounters) {
	t.Helper()
	means := func(all []pmuattrs.RegionCounters) map[string]float64 {
		out := map[string]float64{}
		for _, r := range all {
			for _, e := range r.Counts {
				if e.Count() > 0 {
					out[fmt.Sprint(r.Scope.Name, " ", r.Name, " ", r.Source, " ", e.Event, " ", r.Spans)] = e.Mean()
				}
			}
		}
		return out
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 0.02*math.Abs(a)+1 })
	if diff := cmp.Diff(means(want), means(d.Counters), near); diff != "" {
		t.Errorf("counters (-live +saved):\n%s", diff)
	}
}

func checkRegions(t *testing.T, d *saved.Data, want []spans.RegionStats) {
	t.Helper()
	if len(d.Regions) != len(want) {
		t.Fatalf("%d regions, want %d", len(d.Regions), len(want))
	}
	byName := map[string]spans.RegionStats{}
	for _, r := range d.Regions {
		byName[r.Name] = r
	}
	for _, want := range want {
		got := byName[want.Name]
		if got.Count != want.Count || got.Errors != want.Errors || got.Kind != want.Kind || got.Scope.Name != want.Scope.Name ||
			(got.Self-want.Self).Abs() > want.Self/1000 || (got.Total-want.Total).Abs() > want.Total/1000 {
			t.Errorf("region %s = %+v, want %+v", want.Name, got, want)
		}
		for _, rank := range []float64{0, 50, 90, 99, 100} {
			g, w := float64(got.Durations.Percentile(rank)), float64(want.Durations.Percentile(rank))
			if diff := (g - w) / w; diff > d.RelativeError || diff < -d.RelativeError {
				t.Errorf("region %s: p%g = %g, want %g within %g", want.Name, rank, g, w, d.RelativeError)
			}
		}
	}
}

// TestReadSaved checks the report of each kind of input.
func TestReadSaved(t *testing.T) {
	shop := openShop(t)
	traces, err := os.ReadFile(filepath.Join(shop.dir, "traces.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err = zip.Write(traces)
	if err := errors.Join(err, zip.Close()); err != nil {
		t.Fatal(err)
	}
	whole := write("traces.jsonl", traces)
	torn := write("torn.jsonl", append(bytes.Clone(traces), traces[:len(traces)/2]...))
	foreign := write("notes.txt", []byte("buy milk\n"))
	read := func(stdin string, args ...string) (savedData, string, error) {
		t.Helper()
		r, err := saved.NewReader()
		if err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		c := newTestCall(t, strings.NewReader(stdin), &errs, args)
		d, err := readSaved(t.Context(), c, r, "", c.Args())
		return d, errs.String(), err
	}
	for _, tt := range []struct {
		name     string
		args     []string
		sessions int
		says     string
	}{
		{"one", []string{whole}, 5, "5 sessions of 40 spans, 5 regions, 0 metric points from 1 files"},
		{"gzip", []string{write("t.jsonl.gz", packed.Bytes())}, 5, "5 sessions"},
		{"torn", []string{torn}, 5, "in the middle of it; left out (the file was being written"},
		{"folder", []string{shop.dir}, 5, "metric points"},
		{"twice", []string{shop.dir, filepath.Join(shop.dir, "traces.jsonl")}, 5, "5 sessions of 40 spans"},
		{"foreign", []string{foreign, whole}, 5, `left out: ` + foreign + `: "buy milk": must be OTLP-JSON`},
		{"missing", []string{whole, "nowhere"}, 5, "left out: nowhere: no such file"},
		{"stdin", []string{"-"}, 5, "5 sessions"},
	} {
		d, says, err := read(string(traces), tt.args...)
		if err != nil || d.Sessions != tt.sessions || !strings.Contains(says, tt.says) {
			t.Errorf("%s: %+v, %v, says %q, want %d sessions and %q", tt.name, d, err, says, tt.sessions, tt.says)
		}
	}
	if _, _, err := read("", foreign); err == nil || !strings.Contains(err.Error(), "must be OTLP-JSON") {
		t.Errorf("foreign alone: %v", err)
	}
	if _, _, err := read("", write("empty.jsonl", nil)); err == nil || !strings.Contains(err.Error(), "nothing to show") {
		t.Errorf("empty: %v", err)
	}
}

func newTestCall(t *testing.T, in io.Reader, errs io.Writer, args []string) *command.Call {
	t.Helper()
	c := &command.Call{FlagSet: flag.NewFlagSet("test", flag.ContinueOnError), Stdin: in, Stdout: io.Discard, Stderr: errs, Words: args}
	if err := c.ParseArgs(0, -1); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestViewExecutionTrace checks that an execution trace is shown, alone and beside other files.
func TestViewExecutionTrace(t *testing.T) {
	recorder, err := schedule.NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	defer recorder.Shutdown(context.Background())
	var events bytes.Buffer
	if err := rtrace.Start(&events); err != nil {
		t.Fatal(err)
	}
	tracer := spans.WrapTracerProvider(noop.NewTracerProvider(), spans.WithHook(recorder.Hook())).Tracer("shop")
	for range 3 {
		_, s := tracer.Start(t.Context(), "pay")
		s.End()
	}
	rtrace.Stop()
	file := filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(file, events.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func(args ...string) (savedData, string) {
		t.Helper()
		r, err := saved.NewReader()
		if err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		d, err := readSaved(t.Context(), newTestCall(t, strings.NewReader(""), &errs, args), r, "", args)
		if err != nil {
			t.Fatal(err)
		}
		return d, errs.String()
	}
	d, says := read(file)
	if len(d.Regions) != 1 || d.Regions[0].Name != "pay" || d.Regions[0].Count != 3 || !strings.Contains(says, "an execution trace of ") {
		t.Errorf("alone: regions %+v, says %q; want the region of the trace", d.Regions, says)
	}
	h, err := newSavedViewer(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := viewer.NewServer("127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown(t.Context())
	if body, err := fetch(server.URL() + "api/v1/regions/schedule?name=pay"); err != nil || !strings.Contains(body, `"scope":"shop","name":"pay","count":3`) {
		t.Errorf("schedule: %s, %v; want the three spans", body, err)
	}
	shop := openShop(t)
	d, _ = read(file, shop.dir)
	if len(d.Regions) != 5 || d.schedule == nil {
		t.Errorf("beside spans: %d regions, schedule %v; want those of the spans, and the trace", len(d.Regions), d.schedule)
	}
	if _, says := read(file, copyOf(t, file)); !strings.Contains(says, "must be the only execution trace") {
		t.Errorf("two traces: says %q", says)
	}
}

func copyOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "again.out")
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// The memory that is allowed by default, 2 GiB, and more than there are addresses for, is allowed
// on 32 bits too.
func TestMemory(t *testing.T) {
	for _, args := range [][]string{{"missing.json"}, {"-memory", "4096", "missing.json"}} {
		if err := Command.Execute(nil, args, nil, io.Discard, io.Discard); err == nil || errors.Is(err, command.ErrUsage) {
			t.Errorf("view %q = %v, want that there is no such file", args, err)
		}
	}
	if err := Command.Execute(nil, []string{"-memory", "0", "missing.json"}, nil, io.Discard, io.Discard); !errors.Is(err, command.ErrUsage) {
		t.Errorf("view -memory 0 = %v, want an error of usage", err)
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/whatif"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/viewer"
)

// traced is a program of the scripts: six goroutines share a lock for 2 ms of each request, 8 ms of
// which are their own. It writes an execution trace of a second to the file that is its first
// argument; with a second one its regions are those of runtime/trace, and no spans.
func traced() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 1100*time.Millisecond)
	defer cancel()
	if err := trace.Start(f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	withSpan := func(ctx context.Context, name string, f func(context.Context)) {
		trace.WithRegion(ctx, name, func() { f(ctx) })
	}
	if len(os.Args) == 2 {
		withSpan = inSpans(spans.WrapTracerProvider(nil, spans.WithMarks()))
	}
	shareLock(ctx, withSpan)
	trace.Stop()
	if err := f.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inSpans runs functions in spans of this provider.
func inSpans(tp *spans.TracerProvider) func(context.Context, string, func(context.Context)) {
	tracer := tp.Tracer("shop")
	return func(ctx context.Context, name string, f func(context.Context)) {
		ctx, span := tracer.Start(ctx, name)
		defer span.End()
		f(ctx)
	}
}

// shareLock is the program until ctx ends.
func shareLock(ctx context.Context, in func(context.Context, string, func(context.Context))) {
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range 6 {
		workers.Go(func() {
			for ctx.Err() == nil {
				in(context.Background(), "request", func(ctx context.Context) {
					in(ctx, "own", func(context.Context) { time.Sleep(8 * time.Millisecond) })
					mu.Lock()
					in(ctx, "locked", func(context.Context) { time.Sleep(2 * time.Millisecond) })
					mu.Unlock()
				})
			}
		})
	}
	workers.Wait()
}

// TestWhatifLive asks a program that runs what it would be if it were built in another way, and
// about a function.
func TestWhatifLive(t *testing.T) {
	c, err := causal.NewController()
	if err != nil {
		t.Fatal(err)
	}
	const token = "the-token-of-the-tests"
	tp := spans.WrapTracerProvider(nil, spans.WithHook(c.Hook()))
	h, err := viewer.NewHandler(viewer.Sources{Regions: tp.Regions, Store: tp.Store(), Causal: c}, viewer.WithToken(token))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { shareLock(ctx, inSpans(tp)) })
	t.Cleanup(func() {
		s.Close()
		stop()
		running.Wait()
		if err := errors.Join(tp.Shutdown(context.Background()), c.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	whatif := func(args ...string) (string, error) {
		var out, errs bytes.Buffer
		err := whatif.Command.Execute([]string{"otelprof"}, append(args, s.URL), nil, &out, &errs)
		return out.String() + errs.String(), err
	}
	if out, err := whatif("-procs", "8"); err == nil || !strings.Contains(err.Error(), "refused, 401") {
		t.Errorf("without the token: %v, %s", err, out)
	}
	t.Setenv(plans.EnvToken, token)
	for _, args := range [][]string{
		{"-procs", "8", "-free", "*shareLock*", "-slower", "own", "-speedup", "50", "-json"},
		{"-function", "*shareLock*", "-json", "-progress", "request"},
	} {
		out, err := whatif(append(args, "-record", "1500ms")...)
		if err != nil && strings.Contains(err.Error(), causal.ErrTraced.Error()) {
			testutil.Lacks(t, "TRACE", err.Error())
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Read(strings.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		if p.Recorded == nil || p.Recorded.CPU <= 0 || p.Recorded.Windows < 5 {
			t.Errorf("%s: recorded %+v, want windows, and what the machine did", args, p.Recorded)
		}
		if args[0] == "-function" {
			if !slices.ContainsFunc(p.Curves, func(c profile.Curve) bool { return c.Region.Scope == "function" }) {
				t.Errorf("no curve of the function: %+v", p.Curves)
			}
			continue
		}
		for _, want := range []string{"8 processors", "no wait for the lock at *shareLock*", "own 50 % slower"} {
			if !slices.ContainsFunc(p.Changes, func(c profile.Change) bool { return c.Change == want }) {
				t.Errorf("no answer about %s: %+v", want, p.Changes)
			}
		}
	}
	if out, err := whatif("-split", "main.nothing=4", "-record", "200ms"); err == nil || !strings.Contains(err.Error(), "there is no such thing in what was recorded") {
		t.Errorf("of a lock that is not there: %v, %s", err, out)
	}
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	_ "github.com/otelprof/otelprof/causal/remote/opamp" // for OTELPROF_OPAMP_ENDPOINT
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
	"github.com/otelprof/otelprof/viewer"
)

// TestPlanScripts runs the plan commands against servers and programs on loopback.
func TestPlanScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "plan"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"certificates": certificates,
			"freeport":     freeport,
			"until":        until,
		},
	})
}

// freeport sets variables to ports on which no server listens.
func freeport(ts *testscript.TestScript, _ bool, names []string) {
	for _, name := range names {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		defer ln.Close() // the ports differ
		_, port, err := net.SplitHostPort(ln.Addr().String())
		ts.Check(err)
		ts.Setenv(name, port)
	}
}

// until runs a command again and again until what it prints matches a regular expression.
func until(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		if _ = ts.Exec(args[1], args[2:]...); want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s: prints nothing that matches %s", strings.Join(args[1:], " "), args[0])
}

// shop is a program that is profiled: two workers serve requests until it is interrupted. Its
// audit goes to standard error.
func shop() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opts := []otelprof.Option{
		otelprof.WithExperiments(plan.DefaultLimits()),
		otelprof.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
	}
	if url := os.Getenv("OTELPROF_PLAN_URL"); url != "" {
		opts = append(opts, otelprof.WithPlanURL(url, remote.WithInterval(2*time.Second)))
	}
	if token := os.Getenv(plans.EnvToken); token != "" {
		opts = append(opts, otelprof.WithViewer(os.Getenv("OTELPROF_VIEWER"), viewer.WithToken(token)))
	}
	p, err := otelprof.Setup(ctx, opts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tracer := p.TracerProvider().Tracer("shop")
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for ctx.Err() == nil {
				ctx, request := tracer.Start(context.Background(), "request")
				_, work := tracer.Start(ctx, "work")
				time.Sleep(5 * time.Millisecond)
				work.End()
				request.End()
			}
		})
	}
	workers.Wait()
	if err := p.Shutdown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

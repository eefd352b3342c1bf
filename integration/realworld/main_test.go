package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

// small is a program as others are, but for that it is this test binary.
var small = program{
	name: "small", ports: 1,
	args:     func(ports []string) []string { return []string{"-serve", ports[0]} },
	url:      func(ports []string, _ int) string { return "http://127.0.0.1:" + ports[0] },
	progress: "request", regions: []region{{span: "query", delay: "query"}},
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		var err error
		switch os.Args[1] {
		case "-serve":
			err = serveSmall("127.0.0.1:" + os.Args[2])
		case "-" + clientsFlag:
			err = beClients(context.Background(), small, os.Args[3:], os.Stdin, os.Stdout)
		default:
			goleak.VerifyTestMain(m)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// serveSmall has a query of 2 ms under a lock. Every tenth answer is an error.
func serveSmall(address string) error {
	tracer := control.Wrap(sdktrace.NewTracerProvider()).Tracer("small")
	var (
		mu    sync.Mutex
		count int
	)
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, root := tracer.Start(r.Context(), "request")
		defer root.End()
		_, span := tracer.Start(ctx, "query")
		mu.Lock()
		control.Sleep("query", 2*time.Millisecond, 0)
		if count++; count%10 == 0 {
			http.Error(w, "tenth", http.StatusInternalServerError)
		}
		mu.Unlock()
		span.End()
	}))
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-build", "gcc"}, {"-only", "("}, {"-only", "none"}, {"surplus"}, {"-pairs", "0"}, {"-windows", "0"}, {"-record", "0s"}, {"-clients", "none"}, {"-clients", "hotrod", "1"}} {
		if err := run(t.Context(), args, strings.NewReader(""), t.Output(), t.Output()); err == nil {
			t.Errorf("run(%q) = nil, want an error", args)
		}
	}
	o, err := parseFlags([]string{"-quick", "-build", "otelprof", "-only", "hot", "-windows", "3"}, t.Output())
	if err != nil || len(o.builds) != 1 || o.builds[0] != byTheTool || len(o.speedups) >= len(thorough().speedups) || o.windows != 3 || !o.only.MatchString("hotrod") {
		t.Errorf("parseFlags = %+v, %v", o, err)
	}
}

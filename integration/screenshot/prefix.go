package main

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/integration/internal/login"
)

// printed shows the line that the page has on paper, with its address.
const printed = `window.dispatchEvent(new Event("beforeprint")) && (document.querySelector("#printed").style.display = "block")`

// prefixed takes pictures of a page in a server of the application's own, behind a login, of which
// many goroutines hang.
func prefixed(ctx context.Context, b viewing, into string, out io.Writer) (err error) {
	prof, err := otelprof.Setup(ctx, otelprof.WithServiceName("shop"), otelprof.WithStacks(), otelprof.WithoutGlobals())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prof.Shutdown(context.WithoutCancel(ctx))) }()
	handler, err := prof.Handler()
	if err != nil {
		return err
	}
	s := httptest.NewServer(login.Behind(handler))
	defer s.Close()
	defer hang(prof.TracerProvider().Tracer("shop"))()
	return b.everything(into, page{"prefix", s.URL + "/login", []shot{
		{"overview", "#/", `document.querySelector("table.overview [data-row]") && ` + printed},
		{"goroutines", "#/goroutines", `document.querySelectorAll(".flame-box").length > 2 && ` + printed},
	}}, out)
}

// hang has requests wait for a lock that is held, and returns what lets them go.
func hang(tracer trace.Tracer) (release func()) {
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	for range 5 { // that did not hang
		_, span := tracer.Start(context.Background(), "GET /cart", trace.WithSpanKind(trace.SpanKindServer))
		time.Sleep(time.Millisecond)
		span.End()
	}
	mu.Lock()
	for range 40 {
		all.Go(func() { reserve(tracer, &mu) })
	}
	return func() { mu.Unlock(); all.Wait() }
}

// reserve is a request.
func reserve(tracer trace.Tracer, mu *sync.Mutex) {
	_, span := tracer.Start(context.Background(), "POST /checkout", trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	mu.Lock()
	defer mu.Unlock()
}

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// A service answers requests, health checks and streams, and asks itself.
type service struct {
	books  *books
	tracer trace.Tracer
	lock   sync.Locker
	own    *http.Client
	url    string
	open   context.Context // streams are, until it ends
}

// listen starts the service at an address of the loopback. End stops it.
func (s *service) listen() (end func() error, err error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + l.Addr().String()
	s.tracer = otel.Tracer("soak")
	s.own = &http.Client{Transport: otelhttp.NewTransport(&http.Transport{MaxIdleConnsPerHost: 4})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /front", s.front)
	mux.HandleFunc("GET /back", s.back)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /stream", s.stream)
	instrumented := otelhttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.books.within(w, r, func() { mux.ServeHTTP(w, r) })
	}), "")
	server := &http.Server{
		Handler:           s.books.around(instrumented),
		ConnState:         s.books.connection,
		ReadHeaderTimeout: time.Minute,
	}
	served := make(chan error, 1)

	open, hangUp := context.WithCancel(context.Background())
	s.open = open
	go func() { served <- server.Serve(l) }()
	return func() error {
		hangUp()
		err := server.Close()
		if serving := <-served; !errors.Is(serving, http.ErrServerClosed) {
			err = errors.Join(err, serving)
		}
		s.own.CloseIdleConnections()
		return err
	}, nil
}

func always() bool { return true }

// front works, side by side too, and has itself do the rest.
func (s *service) front(w http.ResponseWriter, r *http.Request) {
	trace.SpanFromContext(r.Context()).SetName("GET /front")
	ctx := r.Context()
	s.step(ctx, "work", func() { clock.Spin(clock.Now(), 100*time.Microsecond, always); time.Sleep(time.Millisecond) })
	var side sync.WaitGroup
	for range 2 {
		side.Go(func() { s.query(ctx) })
	}
	side.Wait()
	if _, err := fetch.Do(ctx, s.own, http.MethodGet, s.url+"/back", http.NoBody); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s *service) back(_ http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	s.step(r.Context(), "locked", func() { time.Sleep(500 * time.Microsecond) })
	s.lock.Unlock()
	s.query(r.Context())
}

func (s *service) step(ctx context.Context, name string, f func()) {
	_, span := s.tracer.Start(ctx, name)
	defer span.End()
	f()
}

// query is a database of others, which knows of no delay.
func (s *service) query(ctx context.Context) {
	_, span := s.tracer.Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	time.Sleep(2 * time.Millisecond)
}

// health asks the database whether it is there.
func (s *service) health(_ http.ResponseWriter, r *http.Request) { s.query(r.Context()) }

// stream takes the connection over and answers lines until the client hangs up.
func (s *service) stream(w http.ResponseWriter, r *http.Request) {
	connection, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer connection.Close() //nolint:errcheck // there is nothing more to do with it
	defer context.AfterFunc(s.open, func() { _ = connection.Close() })()
	for lines := bufio.NewScanner(both); lines.Scan(); {
		s.step(r.Context(), "message", func() { time.Sleep(200 * time.Microsecond) })
		if _, err := io.WriteString(connection, "ok\n"); err != nil {
			return
		}
	}
}

// regionOf returns the local root of a request.
func regionOf(ctx context.Context) *spans.Span {
	r := spans.SpanFromContext(ctx)
	for r != nil && r.Parent() != nil {
		r = r.Parent()
	}
	return r
}

// newLock is what the mode can see through.
func newLock(scheduler bool) sync.Locker {
	if scheduler {
		return &sync.Mutex{}
	}
	return &causal.Mutex{}
}

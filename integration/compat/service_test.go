package compat_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

const scope = "compat/shop"

var errSoldOut = errors.New("sold out")

// service is a small shop: otelhttp on both sides of loopback HTTP, otelsql on a database
// in a file, and spans of its own in between. Given the same provider twice it starts the
// same spans twice.
type service struct {
	tracer trace.Tracer
	db     *sql.DB
	server *httptest.Server
	client *http.Client
}

// newService starts a service that reports to tp. The client does not get tp: otelhttp
// has to find it through the span that is current.
func newService(t *testing.T, tp trace.TracerProvider) *service {
	t.Helper()
	propagator := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	s := &service{tracer: tp.Tracer(scope, trace.WithInstrumentationVersion("1.2.3"))}

	var err error
	s.db, err = otelsql.Open("sqlite", filepath.Join(t.TempDir(), "shop.db"),
		otelsql.WithTracerProvider(tp),
		otelsql.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelsql.WithAttributes(attribute.String("db.system.name", "sqlite")),
		otelsql.WithSpanOptions(otelsql.SpanOptions{Ping: true, RowsNext: true, DisableErrSkip: true}),
	)
	if err != nil {
		t.Fatal(err)
	}
	s.db.SetMaxOpenConns(1) // one connection, so that connecting is always the first span

	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.order)
	mux.HandleFunc("GET /orders/{id}", s.lookUp)
	mux.HandleFunc("GET /upstream", s.upstream)
	mux.HandleFunc("GET /broken", s.broken)
	mux.HandleFunc("GET /panic", s.panics)
	s.server = httptest.NewUnstartedServer(otelhttp.NewHandler(mux, "shop",
		otelhttp.WithTracerProvider(tp),
		otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelhttp.WithPropagators(propagator),
		otelhttp.WithMessageEvents(otelhttp.ReadEvents, otelhttp.WriteEvents),
	))
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0) // net/http prints the panic
	s.server.Start()

	// A kept connection would make net/http repeat a GET whose handler panicked.
	base := &http.Transport{DisableKeepAlives: true}
	s.client = &http.Client{Transport: otelhttp.NewTransport(base,
		otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelhttp.WithPropagators(propagator),
	)}
	return s
}

// close waits for the handlers still running, whose spans end after the client has its answer.
func (s *service) close(t *testing.T) {
	t.Helper()
	s.server.Close()
	if err := s.db.Close(); err != nil {
		t.Error(err)
	}
}

// createTable is the first use of the database.
func (s *service) createTable(ctx context.Context) error {
	ctx, span := s.tracer.Start(ctx, "create table")
	defer span.End()
	_, err := s.db.ExecContext(ctx, `CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)`)
	return err
}

// visit asks for every route once, one after the other, under one span.
func (s *service) visit(ctx context.Context) error {
	ctx, span := s.tracer.Start(ctx, "visit", trace.WithSpanKind(trace.SpanKindProducer))
	defer span.End()
	return errors.Join(
		s.request(ctx, http.MethodPost, "/orders", http.StatusCreated),
		s.request(ctx, http.MethodGet, "/orders/1", http.StatusOK),
		s.request(ctx, http.MethodGet, "/orders/999999", http.StatusNotFound),
		s.request(ctx, http.MethodGet, "/upstream", http.StatusOK),
		s.request(ctx, http.MethodGet, "/broken", http.StatusInternalServerError),
		s.request(ctx, http.MethodGet, "/panic", 0),
	)
}

// visitRequests is the number of requests that one visit makes the server answer.
const visitRequests = 7

// request sends a request and checks the status; 0 is for a connection cut off.
func (s *service) request(ctx context.Context, method, path string, want int) error {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("teapot")
	}
	req, err := http.NewRequestWithContext(ctx, method, s.server.URL+path, body)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if want == 0 && err != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s: status %d, want %d", method, path, resp.StatusCode, want)
	}
	return nil
}

// order writes in a transaction, below a span with all that a span can carry.
func (s *service) order(w http.ResponseWriter, r *http.Request) {
	trace.SpanFromContext(r.Context()).SetAttributes(attribute.String("shop.tenant", "blue"))
	item, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, span := s.tracer.Start(r.Context(), "reserve",
		trace.WithAttributes(attribute.Int("shop.items", 2)),
		trace.WithLinks(trace.Link{
			SpanContext: trace.SpanContextFromContext(r.Context()),
			Attributes:  []attribute.KeyValue{attribute.Bool("shop.linked", true)},
		}))
	defer span.End()
	if err := s.insert(ctx, string(item)); err != nil {
		span.RecordError(err, trace.WithStackTrace(false))
		span.SetStatus(codes.Error, err.Error())
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	span.AddEvent("reserved", trace.WithAttributes(attribute.StringSlice("shop.skus", []string{"a", "b"})))
	span.SetStatus(codes.Ok, "")
	s.audit(ctx)
	w.WriteHeader(http.StatusCreated)
}

func (s *service) insert(ctx context.Context, item string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO orders (item) VALUES (?)`, item); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// auditStart and auditEnd are the times of the span "audit", given by the caller.
var (
	auditStart = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	auditEnd   = auditStart.Add(1500 * time.Millisecond)
)

// audit starts a trace of its own, at a time of its own.
func (s *service) audit(ctx context.Context) {
	_, span := s.tracer.Start(ctx, "audit", trace.WithNewRoot(), trace.WithTimestamp(auditStart))
	span.SetName("audit order")
	span.End(trace.WithTimestamp(auditEnd))
	span.End() // once more, which does nothing
}

func (s *service) lookUp(w http.ResponseWriter, r *http.Request) {
	var item string
	err := s.db.QueryRowContext(r.Context(), `SELECT item FROM orders WHERE id = ?`, r.PathValue("id")).Scan(&item)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		fmt.Fprintln(w, item)
	}
}

// upstream calls the service itself, as a client within a server.
func (s *service) upstream(w http.ResponseWriter, r *http.Request) {
	if err := s.request(r.Context(), http.MethodGet, "/orders/1", http.StatusOK); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

func (s *service) broken(w http.ResponseWriter, r *http.Request) {
	if _, err := s.db.ExecContext(r.Context(), `DELETE FROM nowhere`); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// panics unwinds through two spans, its own and otelhttp's.
func (s *service) panics(_ http.ResponseWriter, r *http.Request) {
	_, span := s.tracer.Start(r.Context(), "pick")
	defer span.End()
	panic(errSoldOut)
}

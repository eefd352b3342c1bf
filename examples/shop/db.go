package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// maxClients is more connections than are ever wanted at once, so that no request waits
// for the pool: a wait that no span shows would only blur the picture.
const maxClients = 64

// openDB makes a new, empty SQLite file in dir and runs schema in it. Each statement
// that is run inside a span becomes a span itself, and with that a region.
func openDB(ctx context.Context, dir, name, schema string, tp trace.TracerProvider, mp metric.MeterProvider) (*sql.DB, error) {
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	source := url.URL{
		Scheme: "file",
		Path:   path,
		// Readers never wait for the writer (WAL), and no statement waits for the
		// disk: what is measured is this program, not a laptop's fsync.
		RawQuery: "_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=busy_timeout(5000)",
	}
	db, err := otelsql.Open("sqlite", source.String(),
		otelsql.WithTracerProvider(tp),
		otelsql.WithMeterProvider(mp),
		otelsql.WithAttributes(semconv.DBSystemNameSQLite),
		otelsql.WithSpanNameFormatter(statementName),
		otelsql.WithSpanOptions(otelsql.SpanOptions{
			OmitConnResetSession: true,
			OmitConnectorConnect: true,
			OmitConnPrepare:      true,
			OmitRows:             true,
			SpanFilter:           insideSpan,
		}))
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(maxClients)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, err), db.Close())
	}
	return db, nil
}

// statementName names the span of a statement by its verb and table, "SELECT products".
// A span name is a region, so it must not contain values.
func statementName(_ context.Context, method otelsql.Method, query string) string {
	words := strings.Fields(query)
	for i := range len(words) - 1 {
		switch words[i] {
		case "FROM", "INTO", "UPDATE":
			table, _, _ := strings.Cut(words[i+1], "(")
			return words[0] + " " + table
		}
	}
	return string(method)
}

// insideSpan leaves out what no request asked for: creating and filling the tables.
func insideSpan(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
	return trace.SpanContextFromContext(ctx).IsValid()
}

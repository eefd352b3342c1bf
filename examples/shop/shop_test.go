package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reads are the regions of the requests that are few, and of their queries.
var reads = []string{"GET /products", "GET /orders", "SELECT products", "SELECT orders"}

// TestShop puts load on the whole service for two seconds, or as long as a busy machine takes for
// each kind of request, and looks at the books: what otelprof measured, what the clients were told,
// and what the database says.
func TestShop(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	ctx, dir := t.Context(), t.TempDir()
	prof, err := otelprof.Setup(ctx, otelprof.WithServiceName("shop"), otelprof.WithoutGlobals(), countOwnSpans())
	if err != nil {
		t.Fatal(err)
	}
	shop, err := openShop(ctx, dir, prof.TracerProvider(), prof.MeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	load := newLoad(shop.URL(), 4)
	began := time.Now()
	loadCtx, enough := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		defer enough()
		testutil.Eventually(func() bool {
			return loadCtx.Err() != nil || time.Since(began) > 2*time.Second && hasRegions(prof, reads)
		})
	})
	if err := load.Run(loadCtx); err != nil {
		t.Errorf("load: %v", err)
	}
	enough()
	watch.Wait()
	if err := shop.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := prof.TracerProvider().ForceFlush(ctx); err != nil {
		t.Errorf("ForceFlush: %v", err)
	}

	orders, refused := load.Orders.Load(), load.OutOfStock.Load()
	if orders == 0 {
		t.Fatal("no order was taken")
	}
	counts := map[string]uint64{}
	for _, r := range prof.TracerProvider().Regions() {
		counts[r.Name] = r.Count
	}
	for region, want := range map[string]int64{
		"POST /orders":  orders + refused,
		"price cart":    orders + refused,
		"reserve stock": orders + refused,
		"UPDATE stock":  orders + 2*refused, // the second one is the delivery
		"pack order":    orders,
		"ship order":    orders,
		"INSERT orders": orders,
	} {
		if got := counts[region]; got != uint64(want) {
			t.Errorf("region %q: count %d, want %d", region, got, want)
		}
	}
	for _, region := range reads {
		if counts[region] == 0 {
			t.Errorf("region %q: count 0, want some", region)
		}
	}
	checkSessions(t, prof.TracerProvider().Store())
	checkCounters(t, prof)
	checkBooks(t, dir, orders)
	if err := prof.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func hasRegions(prof *otelprof.Profiler, names []string) bool {
	left := len(names)
	for _, r := range prof.TracerProvider().Regions() {
		if slices.Contains(names, r.Name) && r.Count > 0 {
			left--
		}
	}
	return left == 0
}

// checkSessions looks for a request whose tree reaches into the pipeline.
func checkSessions(t *testing.T, store spans.Store) {
	t.Helper()
	sessions := store.Sessions(spans.Query{Name: "POST /orders"})
	if len(sessions) == 0 {
		t.Fatal("no session POST /orders")
	}
	for _, session := range sessions {
		var names []string
		for _, span := range session.Spans {
			names = append(names, span.Name)
		}
		if all := strings.Join(names, ","); strings.Contains(all, "reserve stock") && strings.Contains(all, "INSERT orders") {
			return
		}
	}
	t.Errorf("none of %d sessions POST /orders has reserve stock and INSERT orders", len(sessions))
}

// checkCounters looks for a span that was counted.
func checkCounters(t *testing.T, prof *otelprof.Profiler) {
	t.Helper()
	if prof.Counters() == nil {
		t.Log("no counters on this system")
		return
	}
	stats := prof.Counters().Stats()
	t.Logf("counters: %s, %+v", prof.Counters().Source(), stats)
	counted := 0
	for _, session := range prof.TracerProvider().Store().Sessions(spans.Query{}) {
		for _, span := range session.Spans {
			for _, kv := range span.Attributes {
				if kv.Key == naming.CounterValidKey && kv.Value.AsBool() {
					counted++
				}
			}
		}
	}
	if counted == 0 {
		t.Errorf("no span of any session has counts: %+v", stats)
	}
	if wrong := stats.OtherThread + stats.Implausible; wrong != 0 {
		t.Errorf("%d counts were of no use: %+v", wrong, stats)
	}
}

// checkBooks opens the databases anew, which also shows that nothing is locked.
func checkBooks(t *testing.T, dir string, orders int64) {
	t.Helper()
	var products, negative, unbalanced, kept int64
	query(t, filepath.Join(dir, "shop.db"), `
		SELECT count(*), sum(on_hand < 0), sum(on_hand + sold <> received) FROM stock`,
		&products, &negative, &unbalanced)
	if want := int64(len(newCatalog())); products != want {
		t.Errorf("stock has %d products, want %d", products, want)
	}
	if negative != 0 || unbalanced != 0 {
		t.Errorf("stock: %d products below zero and %d unbalanced, want none", negative, unbalanced)
	}
	query(t, filepath.Join(dir, "orders.db"), `SELECT count(*) FROM orders`, &kept)
	if want := min(orders, keptOrders); kept != want {
		t.Errorf("%d orders filed, want %d", kept, want)
	}
}

func query(t *testing.T, path, text string, into ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), text).Scan(into...); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestReserveOutOfStock(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	shop, err := openShop(ctx, dir, tracenoop.NewTracerProvider(), noop.NewMeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shop.shopDB.ExecContext(ctx, `UPDATE stock SET on_hand = 5, received = 5 WHERE product_id = 7`); err != nil {
		t.Fatal(err)
	}
	wanted := cart{{Product: 1, Quantity: 1}, {Product: 7, Quantity: 3}, {Product: 7, Quantity: 3}}
	if err := shop.stock.Reserve(ctx, wanted); !errors.Is(err, errOutOfStock) {
		t.Errorf("Reserve of 6 where 5 are there: %v, want %v", err, errOutOfStock)
	}
	if err := shop.stock.Reserve(ctx, wanted); err != nil {
		t.Errorf("Reserve after the delivery: %v", err)
	}
	if err := shop.Close(ctx); err != nil {
		t.Fatal(err)
	}
	var one, seven int
	path := filepath.Join(dir, "shop.db")
	query(t, path, `SELECT on_hand FROM stock WHERE product_id = 1`, &one)
	query(t, path, `SELECT on_hand FROM stock WHERE product_id = 7`, &seven)
	if one != firstStock-1 || seven != 5+delivery-6 {
		t.Errorf("on hand %d and %d, want %d and %d", one, seven, firstStock-1, 5+delivery-6)
	}
	checkBooks(t, dir, 0)
}

func TestPrice(t *testing.T) {
	catalog := []product{{Cents: 100_00, category: 0}, {ID: 1, Cents: 1_00, category: 4}}
	for _, tt := range []struct {
		name string
		cart cart
		want int64
	}{
		{"no coupon applies", cart{{Product: 1, Quantity: 1}}, 1_19},
		// 100.00 less 5 % less 12 % less 2 % is 81.93, and 19 % tax on it.
		{"coupons add up", cart{{Product: 0, Quantity: 1}}, 97_49},
		{"lines add up", cart{{Product: 0, Quantity: 1}, {Product: 1, Quantity: 1}}, 98_68},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPricing(tracenoop.NewTracerProvider(), catalog)
			if got := p.Price(t.Context(), tt.cart); got != tt.want {
				t.Errorf("Price(%v) = %d, want %d", tt.cart, got, tt.want)
			}
		})
	}
}

func TestStatementName(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT name FROM products WHERE id = ?":         "SELECT products",
		"\n\tUPDATE stock\n\tSET on_hand = 1 FROM other": "UPDATE stock",
		"INSERT OR REPLACE INTO orders(slot) VALUES (?)": "INSERT orders",
		"PRAGMA optimize": string(otelsql.MethodConnExec),
		"":                string(otelsql.MethodConnExec),
	} {
		if got := statementName(t.Context(), otelsql.MethodConnExec, query); got != want {
			t.Errorf("statementName(%q) = %q, want %q", query, got, want)
		}
	}
}

func TestPlanTemplate(t *testing.T) {
	now := time.Now()
	text, err := renderPlan(now)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatalf("ParsePlan: %v\n%s", err, text)
	}
	if life := plan.ExpiresAt.Sub(now); life <= 50*time.Minute || life > time.Hour {
		t.Errorf("plan expires after %v, want at most an hour and not much less", life)
	}
	if plan.Mode != profile.ModeSlowdown {
		t.Errorf("mode %q, want %q", plan.Mode, profile.ModeSlowdown)
	}
	if diff := cmp.Diff([]float64{0, 10, 25, 50}, plan.Grid.Speedups); diff != "" {
		t.Errorf("speedups (-want +got):\n%s", diff)
	}
}

func TestPreparePlanKeepsExisting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	first, second := time.Now(), time.Now().Add(time.Minute)
	for _, now := range []time.Time{first, second} {
		if got, err := preparePlan(path, t.TempDir(), now); got != path || err != nil {
			t.Fatalf("preparePlan = %q, %v, want %q", got, err, path)
		}
	}
	want, err := renderPlan(first)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("the plan was written over: %v\n%s", err, cmp.Diff(want, string(got)))
	}
}

// TestRun is the command itself, from its flags to its tables.
func TestRun(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), []string{
		"-for", "2s", "-listen", "127.0.0.1:0", "-clients", "3",
		"-data", dir, "-plan", filepath.Join(dir, "plan.yaml"),
	}, &stdout, &stderr)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, &stderr)
	}
	for _, want := range []string{"viewer  http://127.0.0.1:", "edit it while this runs", "reserve stock", "p99.9", "\nwhat helps most   ", "\nby how much       ", "\nwhat it rests on  "} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &stdout)
		}
	}
	t.Logf("stderr: %s", &stderr)
}

func TestParseFlagsRejects(t *testing.T) {
	for _, args := range [][]string{{"-clients", "0"}, {"-for", "-1s"}, {"-nonsense"}, {"word"}} {
		if _, err := parseFlags(args, new(bytes.Buffer)); err == nil {
			t.Errorf("parseFlags(%q) succeeded, want an error", args)
		}
	}
}

func TestShort(t *testing.T) {
	for ns, want := range map[uint64]string{0: "0s", 999: "999ns", 12_345: "12.3µs", 1_999_999: "2ms", 61_234_567_890: "1m1.2s"} {
		if got := short(ns); got != want {
			t.Errorf("short(%d) = %q, want %q", ns, got, want)
		}
	}
}

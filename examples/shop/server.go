package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const maxHistory = 200 // orders in one answer of GET /orders

// shop is the service: two databases, the parts that work on them, and a listener.
type shop struct {
	catalog  []product
	shopDB   *sql.DB
	ordersDB *sql.DB
	pricing  *pricing
	stock    *stockroom
	pipeline *pipeline

	lastOrder atomic.Int64
	server    *http.Server
	url       string
	served    chan error
}

// openShop makes new databases in dir and serves on a free port of the loopback.
func openShop(ctx context.Context, dir string, tp trace.TracerProvider, mp metric.MeterProvider) (_ *shop, err error) {
	s := &shop{catalog: newCatalog(), served: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeDBs())
		}
	}()
	if s.shopDB, err = openDB(ctx, dir, "shop.db", shopSchema, tp, mp); err != nil {
		return nil, err
	}
	if s.ordersDB, err = openDB(ctx, dir, "orders.db", ordersSchema, tp, mp); err != nil {
		return nil, err
	}
	if err = fillShop(ctx, s.shopDB, s.catalog); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "http://" + listener.Addr().String()
	s.pricing = newPricing(tp, s.catalog)
	s.stock = newStockroom(tp, s.shopDB)
	s.pipeline = startPipeline(tp, s.ordersDB)
	s.server = &http.Server{Handler: s.routes(tp, mp), ReadHeaderTimeout: 5 * time.Second}
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// URL is where the shop listens.
func (s *shop) URL() string { return s.url }

// Close answers the requests that are under way, ships the orders that were taken, and
// closes the databases.
func (s *shop) Close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.pipeline.Close()
	return errors.Join(err, s.closeDBs())
}

func (s *shop) closeDBs() error {
	var errs []error
	for _, db := range []*sql.DB{s.shopDB, s.ordersDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// routes wraps each handler, and not the whole mux, so that a span has the name of its
// route from the start: "POST /orders".
func (s *shop) routes(tp trace.TracerProvider, mp metric.MeterProvider) http.Handler {
	mux := http.NewServeMux()
	handle := func(route string, handler func(http.ResponseWriter, *http.Request) error) {
		mux.Handle(route, otelhttp.NewHandler(answerErrors(handler), route,
			otelhttp.WithTracerProvider(tp), otelhttp.WithMeterProvider(mp)))
	}
	handle("GET /products", s.listProducts)
	handle("GET /orders", s.listOrders)
	handle("POST /orders", s.placeOrder)
	return mux
}

// placeOrder prices the cart, reserves the stock, and leaves the rest to the pipeline.
func (s *shop) placeOrder(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Cart cart `json:"cart"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&request); err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	if err := s.check(request.Cart); err != nil {
		return err
	}
	ctx := r.Context()
	o := &order{Cart: request.Cart, Cents: s.pricing.Price(ctx, request.Cart)}
	if err := s.stock.Reserve(ctx, o.Cart); err != nil {
		return err
	}
	o.ID = s.lastOrder.Add(1)
	s.pipeline.Submit(ctx, o)
	return answer(w, http.StatusAccepted, o)
}

func (s *shop) check(c cart) error {
	if len(c) == 0 || len(c) > maxLines {
		return fmt.Errorf("%w: cart has %d lines: must have 1 to %d", errBadRequest, len(c), maxLines)
	}
	for _, line := range c {
		if line.Product < 0 || line.Product >= len(s.catalog) {
			return fmt.Errorf("%w: product %d: unknown", errBadRequest, line.Product)
		}
		if line.Quantity < 1 || line.Quantity > maxQuantity {
			return fmt.Errorf("%w: quantity %d: must be in [1, %d]", errBadRequest, line.Quantity, maxQuantity)
		}
	}
	return nil
}

func (s *shop) listProducts(w http.ResponseWriter, r *http.Request) error {
	list, err := productsOf(r.Context(), s.shopDB, r.FormValue("category"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, list)
}

// listOrders asks for the last orders, and then for the name of each one's product: the
// mistake known as N+1 queries. The viewer folds them into one line.
func (s *shop) listOrders(w http.ResponseWriter, r *http.Request) error {
	last, err := strconv.Atoi(r.FormValue("last"))
	if err != nil || last < 1 || last > maxHistory {
		return fmt.Errorf("%w: last %q: must be in [1, %d]", errBadRequest, r.FormValue("last"), maxHistory)
	}
	type entry struct {
		ID      int64  `json:"id"`
		Product string `json:"product"`
		Cents   int64  `json:"cents"`
		product int
	}
	ctx := r.Context()
	rows, err := s.ordersDB.QueryContext(ctx, `SELECT id, product_id, cents FROM orders ORDER BY id DESC LIMIT ?`, last)
	if err != nil {
		return err
	}
	defer rows.Close()
	var history []entry
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.ID, &e.product, &e.Cents); err != nil {
			return err
		}
		history = append(history, e)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i := range history {
		row := s.shopDB.QueryRowContext(ctx, `SELECT name FROM products WHERE id = ?`, history[i].product)
		if err := row.Scan(&history[i].Product); err != nil {
			return err
		}
	}
	return answer(w, http.StatusOK, history)
}

var errBadRequest = errors.New("bad request")

// answerErrors turns the errors of a handler into answers. Being out of stock is the
// customer's bad luck; only what is our own fault makes the server's span fail.
func answerErrors(handler func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := handler(w, r)
		switch {
		case err == nil:
		case errors.Is(err, errBadRequest):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case errors.Is(err, errOutOfStock):
			http.Error(w, errOutOfStock.Error(), http.StatusConflict)
		default:
			slog.WarnContext(r.Context(), "request not served", "path", r.URL.Path, "error", err)
			http.Error(w, "internal error", http.StatusInternalServerError)
		}
	})
}

func answer(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The status is out: if the client is gone, the error cannot be reported.
	_ = json.NewEncoder(w).Encode(body)
	return nil
}

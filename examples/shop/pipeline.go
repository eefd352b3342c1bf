package main

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
)

const (
	packers    = 2
	queueSlots = 32 // of each stage; a full queue makes the stage before it wait
	keptOrders = 10_000
)

const ordersSchema = `
	CREATE TABLE orders (
		slot       INTEGER PRIMARY KEY,
		id         INTEGER NOT NULL,
		product_id INTEGER NOT NULL,
		cents      INTEGER NOT NULL,
		slip       BLOB NOT NULL
	);
	CREATE INDEX orders_id ON orders (id)`

// An order is what the customer has bought.
type order struct {
	ID    int64 `json:"id"`
	Cart  cart  `json:"cart"`
	Cents int64 `json:"cents"`

	// ctx carries the span of the request, so that the stages' spans become its
	// children although they run later and elsewhere.
	ctx  context.Context
	slip []byte
}

// pipeline handles orders behind the customer's back, in two stages joined by bounded
// channels: several workers pack, one ships.
type pipeline struct {
	tracer trace.Tracer
	db     *sql.DB

	toPack, toShip causal.Chan[*order] // shows which goroutine waits for which, like the lock
	packing        sync.WaitGroup
	shipped        chan struct{} // closed when the last order has left
}

func startPipeline(tp trace.TracerProvider, db *sql.DB) *pipeline {
	p := &pipeline{
		tracer:  tp.Tracer("shop/pipeline"),
		db:      db,
		toPack:  causal.NewChan[*order](queueSlots),
		toShip:  causal.NewChan[*order](queueSlots),
		shipped: make(chan struct{}),
	}
	for range packers {
		p.packing.Go(p.packAll)
	}
	go p.shipAll()
	return p
}

// Submit hands an order to the first stage. It waits while the queue is full.
func (p *pipeline) Submit(ctx context.Context, o *order) {
	// The work outlives the request, so it must not be cancelled with it.
	o.ctx = context.WithoutCancel(ctx)
	p.toPack.Send(o)
}

// Close waits until all orders are shipped. Nothing may be submitted any more.
func (p *pipeline) Close() {
	p.toPack.Close()
	p.packing.Wait()
	p.toShip.Close()
	<-p.shipped
}

func (p *pipeline) packAll() {
	var packed bytes.Buffer
	press, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	for o := range p.toPack.All() {
		p.pack(o, &packed, press)
		p.toShip.Send(o)
	}
}

// pack writes the packing slip.
func (p *pipeline) pack(o *order, packed *bytes.Buffer, press *flate.Writer) {
	_, span := p.tracer.Start(o.ctx, "pack order")
	defer span.End()
	packed.Reset()
	press.Reset(packed)
	// Writing to a buffer and encoding plain numbers cannot fail.
	_ = json.NewEncoder(press).Encode(o)
	for i, line := range o.Cart {
		fmt.Fprintf(press, "line %d: %d of product %d\n", i+1, line.Quantity, line.Product)
	}
	_ = press.Close()
	o.slip = bytes.Clone(packed.Bytes())
	span.SetAttributes(attribute.Int("slip.size", len(o.slip)))
}

func (p *pipeline) shipAll() {
	defer close(p.shipped)
	for o := range p.toShip.All() {
		if err := p.ship(o); err != nil {
			slog.Warn("order not shipped", "order", o.ID, "error", err)
		}
	}
}

// ship files the order, in place of the oldest one. The orders have a database of their
// own: SQLite lets one connection write at a time, and filing must not hold up the stock.
func (p *pipeline) ship(o *order) error {
	ctx, span := p.tracer.Start(o.ctx, "ship order")
	defer span.End()
	_, err := p.db.ExecContext(ctx, `
		INSERT OR REPLACE INTO orders (slot, id, product_id, cents, slip)
		VALUES (?, ?, ?, ?, ?)`, o.ID%keptOrders, o.ID, o.Cart[0].Product, o.Cents, o.slip)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, "not filed")
	}
	return err
}

package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/otelprof/otelprof/causal"
)

const (
	firstStock  = 2000                    // units of each product at the start
	delivery    = 2000                    // units that come when a product runs out
	notaryTakes = 1500 * time.Microsecond // for each journal entry, and the lock is held meanwhile
)

var errOutOfStock = errors.New("out of stock")

// stockroom keeps the stock. One goroutine at a time may change it, and this is the
// lock that the demo is about: "reserve stock" is all that is done while holding it.
type stockroom struct {
	tracer trace.Tracer
	db     *sql.DB

	mu causal.Mutex // a sync.Mutex that shows experiments and recordings which goroutine waits for which
	// seal is the last entry of the stock journal. Each entry is a hash over the one
	// before, so that no past entry can be changed unseen, and so entries can only be
	// made one after the other.
	seal  [sha256.Size]byte
	entry []byte // the one being made
}

func newStockroom(tp trace.TracerProvider, db *sql.DB) *stockroom {
	return &stockroom{tracer: tp.Tracer("shop/stock"), db: db}
}

// Reserve takes everything in cart out of the stock, or nothing: then it returns an
// error that wraps errOutOfStock.
func (s *stockroom) Reserve(ctx context.Context, cart cart) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The span starts after Lock and ends before Unlock, so its time is the time the
	// lock is held.
	ctx, span := s.tracer.Start(ctx, "reserve stock")
	defer span.End()

	err := s.take(ctx, cart)
	if errors.Is(err, errOutOfStock) {
		span.RecordError(err)
		span.SetStatus(codes.Error, "out of stock")
		return errors.Join(err, s.restock(ctx))
	}
	if err != nil {
		return err
	}
	s.sealEntry(cart)
	return nil
}

// take is one statement, so it is done for the whole cart or not at all: the table's
// CHECK refuses to go below zero.
func (s *stockroom) take(ctx context.Context, cart cart) error {
	quantities, err := json.Marshal(cart.quantities())
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, `
		UPDATE stock
		SET on_hand = on_hand - wanted.value, sold = sold + wanted.value
		FROM json_each(?) AS wanted
		WHERE product_id = CAST(wanted.key AS INTEGER)`, string(quantities))
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_CHECK {
		return fmt.Errorf("%w: %w", errOutOfStock, err)
	}
	return err
}

// restock lets a delivery arrive for each product that is nearly gone, so that the
// demo can run for hours.
func (s *stockroom) restock(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `
		UPDATE stock
		SET on_hand = on_hand + ?1, received = received + ?1
		WHERE on_hand < ?2`, delivery, maxQuantity*maxLines)
	return err
}

// sealEntry appends cart to the journal and has the notary sign it, over the network: the
// processor has nothing to do meanwhile, and yet no other goroutine gets the lock.
func (s *stockroom) sealEntry(cart cart) {
	entry := append(s.entry[:0], s.seal[:]...)
	for _, line := range cart {
		entry = fmt.Appendf(entry, "%d x %d;", line.Quantity, line.Product)
	}
	s.seal = sha256.Sum256(entry)
	s.entry = entry
	time.Sleep(notaryTakes)
}

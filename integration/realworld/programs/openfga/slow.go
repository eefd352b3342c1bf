package main

import (
	"context"
	"time"

	openfgav1 "github.com/openfga/api/proto/openfga/v1"
	"github.com/openfga/openfga/pkg/storage"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

// slow is a storage as far away as one across a network. A span of each question has the method's
// name.
type slow struct {
	storage.OpenFGADatastore
	tracer trace.Tracer
}

// wait waits for the storage's answer, with a span.
func (s slow) wait(ctx context.Context, name string, delay time.Duration) {
	_, span := s.tracer.Start(ctx, name)
	defer span.End()
	control.Sleep(name, delay, delay/10)
}

func (s slow) ReadUserTuple(ctx context.Context, store string, filter storage.ReadUserTupleFilter, options storage.ReadUserTupleOptions) (*openfgav1.Tuple, error) {
	s.wait(ctx, "ReadUserTuple", 4*time.Millisecond)
	return s.OpenFGADatastore.ReadUserTuple(ctx, store, filter, options)
}

func (s slow) Read(ctx context.Context, store string, filter storage.ReadFilter, options storage.ReadOptions) (storage.TupleIterator, error) {
	s.wait(ctx, "Read", 6*time.Millisecond)
	return s.OpenFGADatastore.Read(ctx, store, filter, options)
}

func (s slow) ReadUsersetTuples(ctx context.Context, store string, filter storage.ReadUsersetTuplesFilter, options storage.ReadUsersetTuplesOptions) (storage.TupleIterator, error) {
	s.wait(ctx, "ReadUsersetTuples", 8*time.Millisecond)
	return s.OpenFGADatastore.ReadUsersetTuples(ctx, store, filter, options)
}

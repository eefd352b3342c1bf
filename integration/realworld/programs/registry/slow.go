package main

import (
	"context"
	"time"

	storage "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/base"
	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

// underWay is how many calls of the storage may be.
const underWay = 3

// slowFactory makes the storage: spans around the wait for the regulator and the call, and delays
// within.
type slowFactory struct{ tracer trace.Tracer }

func (f slowFactory) Create(context.Context, map[string]any) (storage.StorageDriver, error) {
	fast, err := filesystem.FromParameters(map[string]any{"rootdirectory": files})
	if err != nil {
		return nil, err
	}
	return spanned{base.NewRegulator(slow{fast}, underWay), f.tracer}, nil
}

// spanned starts a span for each read and each look.
type spanned struct {
	storage.StorageDriver
	tracer trace.Tracer
}

func (s spanned) GetContent(ctx context.Context, path string) ([]byte, error) {
	ctx, span := s.tracer.Start(ctx, "read")
	defer span.End()
	return s.StorageDriver.GetContent(ctx, path)
}

func (s spanned) Stat(ctx context.Context, path string) (storage.FileInfo, error) {
	ctx, span := s.tracer.Start(ctx, "look")
	defer span.End()
	return s.StorageDriver.Stat(ctx, path)
}

// slow takes 3 ms to read and 1.5 ms to look.
type slow struct{ storage.StorageDriver }

func (s slow) GetContent(ctx context.Context, path string) ([]byte, error) {
	control.Sleep("read", 3*time.Millisecond, 300*time.Microsecond)
	return s.StorageDriver.GetContent(ctx, path)
}

func (s slow) Stat(ctx context.Context, path string) (storage.FileInfo, error) {
	control.Sleep("look", 1500*time.Microsecond, 150*time.Microsecond)
	return s.StorageDriver.Stat(ctx, path)
}

package hdrmetric_test

import (
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
)

// A collectedErrors is an error handler that remembers.
type collectedErrors struct {
	mu   sync.Mutex
	errs []error
}

// Handle implements otel.ErrorHandler.
func (c *collectedErrors) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
}

func (c *collectedErrors) all() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.errs
}

// muteHandler has OpenTelemetry's errors collected until the test ends.
func muteHandler(t *testing.T) *collectedErrors {
	t.Helper()
	old := otel.GetErrorHandler()
	c := new(collectedErrors)
	otel.SetErrorHandler(c)
	t.Cleanup(func() { otel.SetErrorHandler(old) })
	return c
}

package otelprof

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelprof/otelprof/internal/exporter/otlp"
)

// newResource joins, the later over the earlier: the SDK's, the environment's, or the wrapped
// provider's in place of both, and the application's.
func newResource(c config) (*resource.Resource, error) {
	r := resource.Default()
	// Default has read the environment once and for all, maybe before the application
	// changed it.
	layers := []*resource.Resource{resource.Environment(), c.resource}
	if c.baseResource != nil { // into which the SDK has merged the rest
		r, layers = c.baseResource, []*resource.Resource{c.resource}
	}
	if c.serviceName != "" {
		layers = append(layers, resource.NewSchemaless(semconv.ServiceName(c.serviceName)))
	}
	for _, layer := range layers {
		merged, err := resource.Merge(r, layer)
		if errors.Is(err, resource.ErrSchemaURLConflict) {
			// The attributes are joined all the same, the schema is unknown.
			c.logger.Warn("otelprof: resource: schema URL left out", slog.Any("cause", err))
		} else if err != nil {
			return nil, fmt.Errorf("otelprof: resource: %w", err)
		}
		r = merged
	}
	if valid := otlp.ValidResource(r); valid != r {
		c.logger.Warn("otelprof: resource: bytes that are not UTF-8 are replaced by U+FFFD", slog.String("resource", valid.String()))
		r = valid
	}
	if !r.Set().HasValue(semconv.ServiceInstanceIDKey) {
		return resource.Merge(r, resource.NewSchemaless(semconv.ServiceInstanceID(uuid.NewString())))
	}
	return r, nil
}

// text returns the value of a key, "" if there is none.
func text(r *resource.Resource, key attribute.Key) string {
	v, _ := r.Set().Value(key)
	return v.AsString()
}

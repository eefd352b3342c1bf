package otlp

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

// utf8Logs repairs records as utf8Spans does spans. A record has no way to set its resource and scope.
type utf8Logs struct{ sdklog.Exporter }

func (e utf8Logs) Export(ctx context.Context, records []sdklog.Record) error {
	out := make([]sdklog.Record, len(records))
	for i := range records {
		r := records[i].Clone()
		r.SetEventName(otlpattr.UTF8(r.EventName()))
		r.SetSeverityText(otlpattr.UTF8(r.SeverityText()))
		if !isValidValue(r.Body()) {
			r.SetBody(validValue(r.Body()))
		}
		kvs := make([]attribute.KeyValue, 0, r.AttributesLen())
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			kvs = append(kvs, kv)
			return true
		})
		if slices.ContainsFunc(kvs, func(kv attribute.KeyValue) bool { return !isValid(kv) }) {
			r.SetAttributes(validAttributes(kvs)...)
		}
		out[i] = r
	}
	return e.Exporter.Export(ctx, out)
}

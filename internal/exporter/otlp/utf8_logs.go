package otlp

import (
	"context"
	"net/http"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

// utf8Logs repairs records as utf8Spans does spans. A record has no way to set its resource and scope.
type utf8Logs struct {
	sdklog.Exporter

	client *http.Client
}

func (e utf8Logs) Shutdown(ctx context.Context) error {
	defer e.client.CloseIdleConnections()
	return e.Exporter.Shutdown(ctx)
}

func (e utf8Logs) Export(ctx context.Context, records []sdklog.Record) error {
	out, copied := records, false
	for i := range records {
		if isValidRecord(&records[i]) {
			continue
		}
		if !copied {
			out, copied = slices.Clone(records), true
		}
		out[i] = validRecord(&records[i])
	}
	return e.Exporter.Export(ctx, out)
}

func isValidRecord(r *sdklog.Record) bool {
	valid := utf8.ValidString(r.EventName()) && utf8.ValidString(r.SeverityText()) && isValidValue(r.Body())
	if valid {
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			valid = isValid(kv)
			return valid
		})
	}
	return valid
}

func validRecord(r *sdklog.Record) sdklog.Record {
	out := r.Clone()
	out.SetEventName(otlpattr.UTF8(r.EventName()))
	out.SetSeverityText(otlpattr.UTF8(r.SeverityText()))
	out.SetBody(validValue(r.Body()))
	kvs := make([]attribute.KeyValue, 0, r.AttributesLen())
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		kvs = append(kvs, kv)
		return true
	})
	out.SetAttributes(validAttributes(kvs)...)
	return out
}

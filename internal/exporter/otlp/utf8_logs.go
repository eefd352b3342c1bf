package otlp

import (
	"context"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// LoggerProvider is the SDK's, with names of loggers made UTF-8: of a record no exporter can set
// the scope.
type LoggerProvider struct{ *sdklog.LoggerProvider }

// Logger repairs the scope.
func (p LoggerProvider) Logger(name string, opts ...otellog.LoggerOption) otellog.Logger {
	c := otellog.NewLoggerConfig(opts...)
	scope := instrumentation.Scope{Name: name, Version: c.InstrumentationVersion(), SchemaURL: c.SchemaURL(), Attributes: c.InstrumentationAttributes()}
	if valid := validScope(scope); valid != scope {
		name = valid.Name
		opts = []otellog.LoggerOption{
			otellog.WithInstrumentationVersion(valid.Version), otellog.WithSchemaURL(valid.SchemaURL), otellog.WithInstrumentationAttributeSet(valid.Attributes),
		}
	}
	return p.LoggerProvider.Logger(name, opts...)
}

// utf8Logs repairs records as utf8Spans does spans, but for their resource and scope.
type utf8Logs struct {
	sdklog.Exporter
	pipe
}

func (e utf8Logs) Shutdown(ctx context.Context) error {
	defer e.closeIdle()
	return e.Exporter.Shutdown(ctx)
}

func (e utf8Logs) Export(ctx context.Context, records []sdklog.Record) error {
	out, bad := records, 0
	for i := range records {
		if isValidRecord(&records[i]) {
			continue
		}
		if bad++; bad == 1 {
			out = slices.Clone(records)
		}
		out[i] = validRecord(&records[i])
	}
	return e.repaired(ctx, bad, "a record", e.Exporter.Export(ctx, out))
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
	out.SetEventName(toUTF8(r.EventName()))
	out.SetSeverityText(toUTF8(r.SeverityText()))
	out.SetBody(validValue(r.Body()))
	kvs := make([]attribute.KeyValue, 0, r.AttributesLen())
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		kvs = append(kvs, kv)
		return true
	})
	out.SetAttributes(validAttributes(kvs)...)
	return out
}

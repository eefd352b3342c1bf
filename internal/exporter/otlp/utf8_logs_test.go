package otlp

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

type keptLogs struct {
	sdklog.Exporter
	records []sdklog.Record
}

func (k *keptLogs) Export(_ context.Context, r []sdklog.Record) error {
	k.records = r
	return nil
}

func TestInvalidUTF8Logs(t *testing.T) {
	var r sdklog.Record
	r.SetBody(attribute.MapValue(attribute.String("k\xe9", "v\xe9")))
	r.SetSeverityText("s\xe9")
	kept := &keptLogs{}
	if err := (utf8Logs{Exporter: kept}).Export(t.Context(), []sdklog.Record{r}); err != nil {
		t.Fatal(err)
	}
	want := attribute.MapValue(attribute.String("k\uFFFD", "v\uFFFD"))
	if got := kept.records[0]; got.Body() != want || got.SeverityText() != "s\uFFFD" {
		t.Errorf("body %v, severity %q", got.Body(), got.SeverityText())
	}
}

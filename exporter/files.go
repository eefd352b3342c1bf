package exporter

import (
	"log/slog"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/exporter/otlpfile"
)

// Files are where signals go as lines of OTLP-JSON, as the Collector's file exporter writes and its
// otlpjsonfile receiver reads them: traces.jsonl, logs.jsonl and metrics.jsonl in Dir, which must
// exist, and which only one process may write to. A batch is one write of whole lines: a process
// that is killed leaves one torn line at most, which the next one cuts off. Only the owner may read
// the files, as statements and URLs are in them. "otelprof view" shows them.
type Files struct {
	Dir string
	// MaxBytes is the size past which a file is renamed, with the time in its name, and a new one
	// begun; 0 for 64 MiB.
	MaxBytes int64
	// Backups is how many full files of each signal are kept; 0 for 4. A signal takes (Backups+1)
	// times MaxBytes at most.
	Backups int
	// Logger gets writes that fail, and their recovery; nil for otel.Handle.
	Logger *slog.Logger
}

func (f Files) config() otlpfile.Config {
	return otlpfile.Config{Dir: f.Dir, MaxBytes: f.MaxBytes, Backups: f.Backups, Logger: f.Logger}
}

// Spans returns a processor that writes spans. The error names what is wrong with a field, or why
// the folder cannot be written to.
func (f Files) Spans() (*SpanProcessor, error) {
	e, err := otlpfile.NewSpanExporter(f.config())
	if err != nil {
		return nil, err
	}
	return &SpanProcessor{pipeline[*delivery.Batcher]{delivery.NewBatcher(e)}}, nil
}

// Logs returns a processor that writes log records, each as soon as the one before is written.
func (f Files) Logs() (*LogProcessor, error) {
	e, err := otlpfile.NewLogExporter(f.config())
	if err != nil {
		return nil, err
	}
	return &LogProcessor{pipeline[*delivery.LogBatcher]{delivery.NewLogWriter(e)}}, nil
}

// Metrics returns an exporter that writes metrics, for a reader of the SDK's.
func (f Files) Metrics() (*MetricExporter, error) {
	e, err := otlpfile.NewMetricExporter(f.config())
	if err != nil {
		return nil, err
	}
	return &MetricExporter{pipeline[*delivery.MetricExporter]{e}}, nil
}

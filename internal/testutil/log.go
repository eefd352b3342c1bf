package testutil

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
)

// A Log keeps what is logged to it, by any goroutine. The zero Log is ready.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger returns a logger that writes lines of text.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Lines returns its lines, none of an empty log.
func (l *Log) Lines() []string {
	text := strings.TrimSuffix(l.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Await returns its lines as soon as there are n, see [Eventually]: the logging may happen on
// goroutines of their own.
func (l *Log) Await(n int) []string {
	Eventually(func() bool { return len(l.Lines()) >= n })
	return l.Lines()
}

// A Bridge is a handler that does what otelslog does: records become OpenTelemetry's, as soon as
// there is a logger for them.
type Bridge struct {
	To *atomic.Pointer[otellog.Logger]
}

// Enabled implements slog.Handler.
func (b Bridge) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler; attributes are lost.
func (b Bridge) WithAttrs([]slog.Attr) slog.Handler { return b }

// WithGroup implements slog.Handler.
func (b Bridge) WithGroup(string) slog.Handler { return b }

// Handle implements slog.Handler.
func (b Bridge) Handle(ctx context.Context, r slog.Record) error {
	if l := b.To.Load(); l != nil {
		var out otellog.Record
		out.SetBody(attribute.StringValue(r.Message))
		(*l).Emit(ctx, out)
	}
	return nil
}

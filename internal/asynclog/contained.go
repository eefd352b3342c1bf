package asynclog

import (
	"context"
	"log/slog"
)

// Contained returns a logger that gives its records to l. A panic in l's handler is recovered, and
// the record is lost. Any goroutine may use it; a record costs a deferred call more.
func Contained(l *slog.Logger) *slog.Logger {
	if _, contained := l.Handler().(handler); contained {
		return l
	}
	return slog.New(handler{l.Handler()})
}

type handler struct{ inner slog.Handler }

func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { _ = recover() }()
	return h.inner.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	defer func() { _ = recover() }()
	return h.inner.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) (next slog.Handler) {
	next = h
	defer func() { _ = recover() }()
	return handler{h.inner.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) (next slog.Handler) {
	next = h
	defer func() { _ = recover() }()
	return handler{h.inner.WithGroup(name)}
}

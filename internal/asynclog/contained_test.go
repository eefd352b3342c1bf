package asynclog_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/asynclog"
)

// panicking panics wherever it is called and enabled says that it is of use.
type panicking struct{ enabled bool }

func (h panicking) Enabled(context.Context, slog.Level) bool {
	if !h.enabled {
		panic("Enabled panics")
	}
	return true
}
func (panicking) Handle(context.Context, slog.Record) error { panic("Handle panics") }
func (panicking) WithAttrs([]slog.Attr) slog.Handler        { panic("WithAttrs panics") }
func (panicking) WithGroup(string) slog.Handler             { panic("WithGroup panics") }

func TestLoggerSurvivesItsHandler(t *testing.T) {
	for _, h := range []panicking{{}, {enabled: true}} {
		l := asynclog.Contained(slog.New(h))
		l.Warn("a")
		l.With("key", 1).Warn("b")
		l.WithGroup("group").Warn("c")
	}
}

func TestLoggerGivesRecords(t *testing.T) {
	var out strings.Builder
	l := asynclog.Contained(slog.New(slog.NewTextHandler(&out, nil)))
	asynclog.Contained(l).With("a", 1).WithGroup("g").Info("message", "b", 2)
	if got := out.String(); !strings.Contains(got, "msg=message a=1 g.b=2\n") {
		t.Errorf("%q: want the message with its attributes", got)
	}
	if l.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("debug is enabled, and is not in the handler")
	}
}

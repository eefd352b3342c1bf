package contain_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/contain"
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
		l := contain.Logger(slog.New(h))
		l.Warn("a")
		l.With("key", 1).Warn("b")
		l.WithGroup("group").Warn("c")
	}
}

func TestLoggerGivesRecords(t *testing.T) {
	var out strings.Builder
	l := contain.Logger(slog.New(slog.NewTextHandler(&out, nil)))
	contain.Logger(l).With("a", 1).WithGroup("g").Info("message", "b", 2)
	if got := out.String(); !strings.Contains(got, "msg=message a=1 g.b=2\n") {
		t.Errorf("%q: want the message with its attributes", got)
	}
	if l.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("debug is enabled, and is not in the handler")
	}
}

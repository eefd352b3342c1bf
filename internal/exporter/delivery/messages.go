package delivery

import (
	"context"
	"log/slog"
	"time"

	"github.com/otelprof/otelprof/internal/asynclog"
)

const (
	// queuedMessages is how many wait for a logger; causes are logged once, so there are few.
	queuedMessages = 64
	// toldWithin is how long a shutdown waits for a logger.
	toldWithin = time.Second
)

// messages go to a logger on a goroutine of their own: a failed export may hold locks that the
// logger needs, the SDK's, where records of package slog become OpenTelemetry's, or the
// application's.
type messages struct{ *asynclog.Queue[message] }

type message struct {
	ctx   context.Context
	level slog.Level
	err   error
}

// newMessages survives a logger that panics: messages that it did not get are counted all the same.
func newMessages(log func(context.Context, slog.Level, error)) messages {
	return messages{asynclog.NewQueue(queuedMessages, func(m message) {
		defer func() { _ = recover() }()
		log(m.ctx, m.level, m.err)
	})}
}

// wait waits until all messages are logged, or ctx ends, a second at most.
func (m messages) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, toldWithin)
	defer cancel()
	m.Wait(ctx)
}

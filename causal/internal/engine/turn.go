package engine

import "context"

// A Turn is had by an experiment or a recording, one at a time: what is recorded is a program that
// nothing delays. A recording that waits has it next. A nil turn is free at any time.
type Turn chan struct{}

// NewTurn returns a turn that is free.
func NewTurn() Turn { return make(Turn, 1) }

// Wait waits for the turn, or for the end of ctx.
func (t Turn) Wait(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return t.done, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// try takes the turn if it is free.
func (t Turn) try() bool {
	if t == nil {
		return true
	}
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

func (t Turn) done() {
	if t != nil {
		<-t
	}
}

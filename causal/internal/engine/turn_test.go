package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A recording that waits has its turn before the next experiment, and waits no longer than it wants
// to.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := NewTurn()
		if !turn.try() || turn.try() {
			t.Fatal("a free turn is had once")
		}
		recorded := make(chan func())
		go func() {
			done, err := turn.Wait(context.Background())
			if err != nil {
				t.Error(err)
			}
			recorded <- done
		}()
		ctx, cancel := context.WithCancelCause(t.Context())
		late := make(chan error)
		go func() {
			_, err := turn.Wait(ctx)
			late <- err
		}()
		synctest.Wait()
		enough := errors.New("enough")
		cancel(enough)
		if err := <-late; !errors.Is(err, enough) {
			t.Errorf("wait = %v, want the cause", err)
		}
		turn.done()
		if turn.try() {
			t.Error("an experiment came before the recording that waited")
		}
		(<-recorded)()
		if !turn.try() {
			t.Error("the turn is not free after the recording")
		}
	})
	for range 2 {
		if !Turn(nil).try() {
			t.Error("a nil turn is not free")
		}
	}
}

// Package ending bounds how long a Shutdown waits for a part that hangs.
package ending

import (
	"context"
	"fmt"
	"time"
)

// Grace is how much longer than its context a Shutdown may wait: what can end at once ends also if
// no time is left.
const Grace = 25 * time.Millisecond

// Within calls end on a goroutine of its own and returns what it returns, [Grace] after the end of
// ctx at the latest. The error then wraps ctx's, and end goes on by itself.
func Within(ctx context.Context, end func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(Grace):
		return fmt.Errorf("not ended: %w", ctx.Err())
	}
}

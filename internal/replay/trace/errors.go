package trace

import (
	"errors"
	"fmt"
)

// stopped is what [Recording.Rests] panics with: the error of the rest function, by which the
// caller ends the work. A panic leaves nested loops and simulations at once; [Catch] makes it an
// error.
type stopped struct{ err error }

// Catch is deferred where a recording is read or simulated. A trace and its reader are foreign to
// this package: a panic over either is an error that wraps [ErrTrace], and the program that asked
// goes on. A rest function that ends the work is an error, too: its own, unchanged, so that
// errors.Is finds it. TestDamaged and TestAnalysisEndsWhenNothingWantsIt hold both.
//
// It must be the deferred call itself, as in
//
//	defer Catch(&err)
//
// since recover has no effect in a function that a deferred one calls. It does not see panics of
// other goroutines: packages below replay start none. A real fault of this program is also taken
// for a bad trace: TestDamaged calls what is below it, so as to see the panic.
func Catch(err *error) {
	switch v := recover().(type) {
	case nil:
	case stopped:
		*err = v.err
	default:
		*err = fmt.Errorf("%w: cannot be simulated: %v", ErrTrace, v)
	}
}

// Contain calls f, which does something with recordings that returns no error, and returns why it
// could not be done: what rest of [ReadResting] has returned, or an error that wraps [ErrTrace].
// What f has done by then stays: results that it was to set must not be used.
func Contain(f func()) (err error) {
	defer Catch(&err)
	f()
	return nil
}

var (
	// ErrTrace is wrapped by errors about a trace that cannot be read, or whose recording cannot be
	// simulated. Another recording of the same program may do.
	ErrTrace = errors.New("replay: trace")
	// ErrTooLarge is wrapped by errors of [Join] about recordings that hold more events together
	// than the analysis takes, see maxEvents. Shorter recordings of the same programs do.
	ErrTooLarge = errors.New("replay: recording too large")
)

package trace

import (
	"errors"
	"fmt"
)

// stopped is what Recording.rests panics with.
type stopped struct{ err error }

// Catch is deferred where a recording is read or simulated. What stands in a trace is not ours, and
// its reader neither: a panic over it is an error, and the program that asked goes on. So is the
// end of what asked.
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
func Contain(f func()) (err error) {
	defer Catch(&err)
	f()
	return nil
}

var (
	// ErrTrace is wrapped by errors about a trace that cannot be read.
	ErrTrace = errors.New("replay: trace")
	// ErrTooLarge is wrapped by errors about a recording that holds more than the analysis takes.
	ErrTooLarge = errors.New("replay: recording too large")
)

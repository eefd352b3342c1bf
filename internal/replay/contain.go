package replay

import "fmt"

// stopped is what Recording.rests panics with.
type stopped struct{ err error }

// contain is deferred where a recording is read or simulated. What stands in a trace is not ours, and its reader neither: a
// panic over it is an error, and the program that asked goes on. So is the end of what asked.
func contain(err *error) {
	switch v := recover().(type) {
	case nil:
	case stopped:
		*err = v.err
	default:
		*err = fmt.Errorf("%w: cannot be simulated: %v", ErrTrace, v)
	}
}

// Contain calls f, which does something with recordings that returns no error, and returns why it could not be done: what rest of
// [ReadResting] has returned, or an error that wraps [ErrTrace].
func Contain(f func()) (err error) {
	defer contain(&err)
	f()
	return nil
}

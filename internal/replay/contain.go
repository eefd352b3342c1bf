package replay

import "fmt"

// contain is deferred where a recording is read or simulated. What stands in a trace is not ours, and its reader neither: a
// panic over it is an error, and the program that asked goes on.
func contain(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: cannot be simulated: %v", ErrTrace, v)
	}
}

package replay

import "errors"

var (
	// ErrTrace is wrapped by errors about a trace that cannot be read.
	ErrTrace = errors.New("replay: trace")
	// ErrTooLarge is wrapped by errors about a recording that holds more than the analysis takes.
	ErrTooLarge = errors.New("replay: recording too large")
)

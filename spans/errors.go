package spans

import "errors"

var (
	// ErrConfig is returned for an option that is out of its range.
	ErrConfig = errors.New("spans: configuration")
	// ErrSessionID is returned for a text that is not a session ID.
	ErrSessionID = errors.New("spans: session id")
)

package perf

import "errors"

// An [Error] wraps one of these.
var (
	// ErrNotSupported: this system or this machine has no counters.
	ErrNotSupported = errors.New("counters not supported")
	// ErrNoEvent: the machine has counters, but none for this event.
	ErrNoEvent = errors.New("event not supported")
	// ErrPermission: the kernel, or a seccomp filter, does not let this process count.
	ErrPermission = errors.New("counters not permitted")
	// ErrGroupTooLarge: more events than can be counted at the same time.
	ErrGroupTooLarge = errors.New("group too large")
	// ErrTooManyFiles: the limit of open files is reached.
	ErrTooManyFiles = errors.New("too many open files")
	// ErrInvalid: the kernel knows no such event, thread or option.
	ErrInvalid = errors.New("invalid event")
)

// These say that a group that could be opened counts no more, or never did.
var (
	// ErrNotScheduled: others hold the counters, and the kernel has given the group up.
	ErrNotScheduled = errors.New("no counters for the group: others hold them")
	// ErrExited: the thread whose counters these are has ended.
	ErrExited = errors.New("counted thread has ended")
	// ErrClosed: the group was closed.
	ErrClosed = errors.New("group is closed")
)

// An Error gives why the kernel refused, and what can be done about it.
type Error struct {
	// Kind is one of the errors of this package.
	Kind error
	// Errno is what the kernel answered, and Code its name; nil if it was not asked.
	Errno error
	Code  string
	// Event is the index of the refused event in the list given to [Open], -1 if it is about all.
	Event int
	// Cause is what stands in the way, in words.
	Cause string
	// Remedy is the smallest change that helps; empty if there is none.
	Remedy string
}

func (e *Error) Error() string {
	text := e.Cause
	if e.Errno != nil {
		text += " (" + e.Code + ")"
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns the kind and the errno.
func (e *Error) Unwrap() []error {
	if e.Errno == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Errno}
}

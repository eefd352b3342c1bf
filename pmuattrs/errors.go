package pmuattrs

import (
	"errors"

	"github.com/otelprof/otelprof/internal/perf"
)

// What stands in the way of counting. The errors that wrap these have the type [*Error],
// which names what can be done.
var (
	// ErrNotSupported: this system or this machine has no counters.
	ErrNotSupported = perf.ErrNotSupported
	// ErrNoEvent: the machine has counters, but none for this event.
	ErrNoEvent = perf.ErrNoEvent
	// ErrPermission: the kernel, or a seccomp filter, does not let this process count.
	ErrPermission = perf.ErrPermission
)

// An Error gives why the kernel refused an event: by Kind, which is one of the errors above or,
// where only the text helps, another; by Cause in words, and by Remedy, the smallest change that
// helps.
type Error = perf.Error

// Why a reading, or the difference of two, is of no use.
var (
	// ErrClosed: the counters were closed.
	ErrClosed = perf.ErrClosed
	// errUnrelated: the readings are not two of the same counters of the same thread.
	errUnrelated = errors.New("readings are not of the same counters")
	// ErrMultiplexed: for a part of the time others had the counters.
	ErrMultiplexed = errors.New("counters were shared with others")
	// errImplausible: a count has gone down, or up faster than any CPU.
	errImplausible = errors.New("implausible count")
	// errTooManyThreads: threads has as many open groups as it may have.
	errTooManyThreads = errors.New("too many threads are counted")
)

// ErrEvent is returned for a text that names no event.
var ErrEvent = errors.New("pmuattrs: event")

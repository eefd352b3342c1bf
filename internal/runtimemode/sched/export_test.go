//go:build otelprof_runtime

package sched

import "time"

// OpenInPlaceOf is [Open] with another age from which places are taken.
func OpenInPlaceOf(most time.Duration) Request { return Request{runtimeOpen(false, int64(most))} }

package spans

import "sync/atomic"

// Dropped counts what was left out, by cause, since the provider was wrapped.
type Dropped struct {
	// QueueFull: sessions, the worker's queue was full or the provider shut down.
	QueueFull uint64 `json:"queue_full"`
	// Unwanted: sessions that the store had no use for, see [Chooser].
	Unwanted uint64 `json:"unwanted"`
	// StoreError: sessions, the store refused them.
	StoreError uint64 `json:"store_error"`
	// Discarded: sessions, by [Session.Discard].
	Discarded uint64 `json:"discarded"`
	// Revisions: later records of sessions that already were in the store. The spans that
	// ended late are missing there, for one of the reasons above.
	Revisions uint64 `json:"revisions"`
	// SessionFull: spans missing in their session's record, which had too many. They
	// are counted in their region.
	SessionFull uint64 `json:"session_full"`
	// RegionsFull: spans counted under the region "other", there were too many names.
	RegionsFull uint64 `json:"regions_full"`
	// HookPanics: calls of hooks that panicked.
	HookPanics uint64 `json:"hook_panics"`
}

type drops struct {
	queueFull, unwanted, storeError, discarded, revisions, sessionFull, regionsFull, hookPanics atomic.Uint64
}

// Dropped returns what has been left out so far.
func (p *TracerProvider) Dropped() Dropped {
	d := &p.drops
	return Dropped{
		QueueFull:   d.queueFull.Load(),
		Unwanted:    d.unwanted.Load(),
		StoreError:  d.storeError.Load(),
		Discarded:   d.discarded.Load(),
		Revisions:   d.revisions.Load(),
		SessionFull: d.sessionFull.Load(),
		RegionsFull: d.regionsFull.Load(),
		HookPanics:  d.hookPanics.Load(),
	}
}

// Queued returns the number of ended sessions that wait for the worker. Every session that
// has ended is in the store, queued, or in one of the session counters of [Dropped].
func (p *TracerProvider) Queued() int { return p.worker.queued() }

package spans

import (
	"sync/atomic"
	"unsafe"
)

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
	// ended late are missing there, for one of the reasons above, or began more than a minute late.
	Revisions uint64 `json:"revisions"`
	// SessionFull: spans missing in their session's record, which had too many, or all sessions
	// that are open have together. They are counted in their region.
	SessionFull uint64 `json:"session_full"`
	// RegionsFull: spans counted under the region "other", there were too many names.
	RegionsFull uint64 `json:"regions_full"`
	// HookPanics: calls of hooks, and of the function of [WithSessionFilter], that panicked.
	HookPanics uint64 `json:"hook_panics"`
}

type drops struct {
	queueFull, storeError, discarded, revisions, sessionFull, regionsFull, hookPanics atomic.Uint64
	unwanted                                                                          spread // of most sessions of a busy program
}

// cacheLines keeps apart what different processors write; two lines, since processors fetch them in
// pairs.
type cacheLines [128]byte

// spread is a counter that goroutines on different processors add to, mostly, in different places.
type spread struct {
	cells [8]struct {
		n atomic.Uint64
		_ [len(cacheLines{}) - 8]byte
	}
}

// add adds one. The place goes by where the goroutine's stack is, which is a hint and nothing more.
func (s *spread) add() {
	var local byte
	const mixed = 0x9e3779b97f4a7c15
	page := uint64(uintptr(unsafe.Pointer(&local))) >> 11
	s.cells[page*mixed>>61].n.Add(1)
}

func (s *spread) load() (n uint64) {
	for i := range s.cells {
		n += s.cells[i].n.Load()
	}
	return n
}

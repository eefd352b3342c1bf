package ledger

import "sync/atomic"

// longestWake bounds what one wake-up counts as, ns: what takes longer has waited for a processor.
const longestWake = 1_000_000

// wakes is how long it takes, in a setting, from when a goroutine could go on until it does: tens of
// microseconds where its processor sleeps meanwhile. A hypothesis under which somebody has to wait who
// did not need to costs that much, and one that spares somebody the wait saves it.
type wakes struct{ count, total atomic.Int64 }

func (w *wakes) add(ns int64) {
	w.total.Add(min(ns, longestWake))
	w.count.Add(1)
}

// mean returns 0 if nobody has waited yet. It may be off by one wake-up that is just being added.
func (w *wakes) mean() int64 {
	if n := w.count.Load(); n > 0 {
		return w.total.Load() / n
	}
	return 0
}

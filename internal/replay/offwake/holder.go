package offwake

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A handover is a lock that a goroutine got after it had waited for it.
type handover struct {
	at     int64
	by     int32     // the span of the goroutine that gave it, None for none
	place  int32     // at which it did
	waited int32     // where the one that got it had waited
	before *handover // how that goroutine had got its own last lock; nil where it had not waited
	depth  int       // of what is before
}

// mostHandovers is how far back a wait is followed: a queue of so many waiters.
const mostHandovers = 64

// shortened is a handover to be followed from another one, without a memory of the whole recording.
func (h *handover) shortened() *handover {
	if h == nil || h.depth < mostHandovers {
		return h
	}
	short := *h
	short.before, short.depth = nil, 0
	return &short
}

// holder is who held a lock for most of a wait that began at some time, and where that was given
// back. Where several waited, each has it from the one before, which may have had it for a moment
// only: the goroutine that woke the waiting one need not be the one that kept it waiting. Each
// handover within the wait ends the time of one holder. A trace has no address of a lock: what a
// goroutine waited for last, before it gave this one back, is the same where it waited, or got it,
// at the same place in the program.
func (w *walk) holder(last *handover, since int64) (by, place int32) {
	type held struct {
		by, region, place int32
		time              int64
	}
	var all []held
	until := last.at
	for h := last; h != nil && until > since; {
		before, from := h.before, since
		if before != nil && before.waited != last.waited && before.place != h.place {
			before = nil
		}
		if before != nil {
			from = max(since, min(before.at, until))
		}
		region := int32(trace.None)
		if h.by != trace.None {
			region = w.r.Spans[h.by].Region
		}
		i := slices.IndexFunc(all, func(x held) bool { return x.region == region && x.place == h.place })
		if i < 0 {
			i = len(all)
			all = append(all, held{by: h.by, region: region, place: h.place})
		}
		all[i].time += until - from
		until, h = from, before
	}
	by, place = last.by, last.place
	var longest int64
	for _, h := range all {
		if h.time > longest {
			by, place, longest = h.by, h.place, h.time
		}
	}
	return by, place
}

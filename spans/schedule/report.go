package schedule

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/spans"
)

// A Split is time by where it went. The parts do not overlap.
type Split struct {
	// Running is the time in which the goroutine had a thread to run on.
	Running time.Duration `json:"running_ns"`
	// Runnable is the time in which it was ready, and waited for one.
	Runnable time.Duration `json:"runnable_ns"`
	// Blocked is the time in which it could not have run, by the reason. Reasons without time are
	// not in it.
	Blocked map[Reason]time.Duration `json:"blocked_ns"`
}

// Sum is all of the time.
func (s Split) Sum() time.Duration {
	sum := s.Running + s.Runnable
	for _, d := range s.Blocked {
		sum += d
	}
	return sum
}

// A Region is what a report has on the regions of one scope and name.
type Region struct {
	Scope string `json:"scope"`
	Name  string `json:"name"`
	// Count is the number of regions in the sums.
	Count uint64 `json:"count"`
	// Total is their time from start to end. A region within one of its own name counts twice.
	Total Split `json:"total"`
	// Self is what of it no later region on the same goroutine has.
	Self Split `json:"self"`
	// Awaited is for how long other goroutines waited in their time for what they gave before their
	// ends: a lock, a place, an answer; or may have, for what they wrote to the network. It exceeds
	// Total where several wait for one.
	Awaited time.Duration `json:"awaited_ns,omitempty"`
	// Helped is for how long of the waits of Self for "sync" and "cond" goroutines worked that the
	// region has started and that open no regions themselves: what they do is the region's. Their
	// own waits for others are not in it.
	Helped time.Duration `json:"helped_ns,omitempty"`
	// Served is the same of goroutines that the region has not started: what they do may be the
	// region's, as that of a pool of workers is, or another's, as that of the holder of a lock.
	Served time.Duration `json:"served_ns,omitempty"`
	// Overtaken is the number of regions that were still open when the work that they were started
	// for was done, as others had answered: of a quorum, or of hedged requests. Whether one counts
	// depends on how long it takes.
	Overtaken uint64 `json:"overtaken,omitempty"`
	// TimedOut is the number of regions that were still open when a timer had ended the wait for
	// them, so that the work that they were started for was done without them.
	TimedOut uint64 `json:"timed_out,omitempty"`
	// Interleaved is the number of regions that ended while one that began later was open on their
	// goroutine, as one has that does several things at a time (an event loop). Self then has the
	// time of the latest one alone.
	Interleaved uint64 `json:"interleaved,omitempty"`
	// HoldsUp is, of regions that moved, how many a goroutine ended that went on to end another
	// one, which was open by then, in less than a tenth of their time: who holds that goroutine for
	// as long holds up both.
	HoldsUp uint64 `json:"holds_up,omitempty"`
}

// A Report is where the time went in one window.
type Report struct {
	// Taken is when the window ended, by the clock on the wall; zero for a trace from elsewhere.
	Taken time.Time `json:"taken,omitzero"`
	// Trigger is the session that the report was made for, nil if a caller asked.
	Trigger *Trigger `json:"trigger,omitempty"`
	// Window is the time between the first event and the last.
	Window time.Duration `json:"window_ns"`
	// Bytes and Events were read.
	Bytes  int64 `json:"bytes"`
	Events int64 `json:"events"`
	// Busy is the part of the window in which no processor (P of Go's scheduler) was idle, in [0,
	// 1], and ProcessorWait the time until one is, in the mean over all moments: what gets ready by
	// the network, which Go looks at last, waits for so long at most.
	Busy          float64       `json:"busy"`
	ProcessorWait time.Duration `json:"processor_wait_ns"`
	// Regions are ordered by the time of Total, the longest first.
	Regions []Region `json:"regions"`
	// Moves are the regions that ended on another goroutine, with counts alone.
	Moves []Region `json:"moves,omitempty"`
	// Open regions had not ended, Partial ones began before the window, Moved ones ended on another
	// goroutine. They are in no sum of Regions.
	Open    uint64 `json:"open"`
	Partial uint64 `json:"partial"`
	Moved   uint64 `json:"moved"`
	// Folded regions stand under the name "other": there were too many names.
	Folded uint64 `json:"folded"`
}

// A Trigger is a session that took longer than the threshold.
type Trigger struct {
	Scope    string          `json:"scope"`
	Name     string          `json:"name"`
	Duration time.Duration   `json:"duration_ns"`
	Session  spans.SessionID `json:"session"`
}

// Region returns what the report has on a region, false if it has nothing.
func (r *Report) Region(scope, name string) (Region, bool) {
	for _, region := range r.Regions {
		if region.Scope == scope && region.Name == name {
			return region, true
		}
	}
	return Region{}, false
}

func sortRegions(all []Region) {
	slices.SortFunc(all, func(a, b Region) int {
		return cmp.Or(
			cmp.Compare(b.Total.Sum(), a.Total.Sum()),
			strings.Compare(a.Scope, b.Scope),
			strings.Compare(a.Name, b.Name),
		)
	})
}

// times are the time of each class, in nanoseconds.
type times [numClasses]int64

func (t *times) add(o *times) {
	for i := range t {
		t[i] += o[i]
	}
}

func (t *times) sub(o *times) {
	for i := range t {
		t[i] -= o[i]
	}
}

// split leaves out what is unknown: a region begins on a goroutine that runs.
func (t *times) split() Split {
	s := Split{Running: time.Duration(t[running]), Runnable: time.Duration(t[runnable]), Blocked: map[Reason]time.Duration{}}
	for i, r := range reasons {
		if d := t[firstReason+class(i)]; d != 0 {
			s.Blocked[r] = time.Duration(d)
		}
	}
	return s
}

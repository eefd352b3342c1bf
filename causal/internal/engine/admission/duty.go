package admission

import (
	"math"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// A Duty is a sliding-window limit: it bounds the sum of the delays in each [sched.DutyWindow],
// wherever that begins. Delays are summed up in slots by when they begin; those that have a part in
// a window began in it, or before it by one delay at most. So the sum over all of these slots is
// bounded. Any goroutine may call its methods.
type Duty struct {
	began time.Time
	count int64 // of slots that have a part in a window

	mu   sync.Mutex
	most float64 // ns in a window
	sums []int64 // ns, a ring
	last int64   // the latest slot with a sum
}

const dutySlot = 10 * time.Millisecond

// NewDuty returns one for a rate, in ns per ns, and delays that take longest at most. A rate of
// infinity is no bound.
func NewDuty(rate float64, longest time.Duration, now time.Time) *Duty {
	count := int64((sched.DutyWindow+longest+dutySlot-1)/dutySlot) + 1
	if math.IsInf(rate, 1) {
		count = 1
	}
	d := &Duty{began: now, count: count, sums: make([]int64, count)}
	d.refill(rate)
	return d
}

// DutyRate is what a limit means for a number of processors. A limit of 100 % is none: more
// goroutines than processors can be delayed at once.
func DutyRate(limit plan.Percent, processors int) float64 {
	if limit >= 1 {
		return math.Inf(1)
	}
	return float64(limit) * float64(processors)
}

// PerWindow is the most delay in a window at a rate.
func PerWindow(rate float64) time.Duration {
	return time.Duration(min(rate*float64(sched.DutyWindow), float64(math.MaxInt64/4)))
}

// refill changes the rate.
func (d *Duty) refill(rate float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.most = rate * float64(sched.DutyWindow)
}

// take books a delay that is about to begin, unless it would be too much.
func (d *Duty) take(now time.Time, delay time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	slot := d.advance(now)
	sum := int64(0)
	for _, s := range d.sums {
		sum += s
	}
	if float64(sum)+float64(delay) > d.most {
		return false
	}
	d.sums[slot] += int64(delay)
	return true
}

// add books a delay that has been inserted, even if the sum exceeds the duty.
func (d *Duty) add(now time.Time, delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sums[d.advance(now)] += int64(delay)
}

// advance forgets the slots that have no part any more, and returns the place of the one of now.
func (d *Duty) advance(now time.Time) int64 {
	slot := max(d.last, int64(now.Sub(d.began)/dutySlot))
	for n := max(d.last+1, slot-d.count+1); n <= slot; n++ {
		d.sums[n%d.count] = 0
	}
	d.last = slot
	return slot % d.count
}

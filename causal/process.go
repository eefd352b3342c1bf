package causal

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/spans"
)

// live is all that the controllers of a process share, and that outlives them. It is the process's because a lock does not know
// which provider's spans its users are in, and because there is one scheduler: so there is one setting of the ledgers in force, that of
// an experiment, or none.
//
// Any goroutine reads what is atomic, has a lock of its own or is set by init. Lock mu is held for the rest, and to replace observation and
// runs; a shard of ledgers may be locked meanwhile, not the other way round. What is written often stands apart
// from what each lock, channel and span of the application reads.
var live struct {
	observation atomic.Pointer[observation] // what is observed now, nil for nothing
	scheduled   atomic.Pointer[scheduled]   // the overlap that the scheduler carries out, nil for none
	runs        atomic.Pointer[[]*run]      // that Progress counts for; replaced, never changed

	// What spans and their names have at hand. A span has few inline slots: scheduledSpan takes one in programs of "otelprof build" only.
	// So does membership, which elsewhere is made when the first plan is, and only local roots have one.
	frame         spans.Slot[ledger.Frame]
	class         spans.NameSlot[class]
	scheduledSpan spans.Slot[scheduledSpan]
	membership    func() spans.Slot[membership]

	// regions are the classes of the program, by ID. They are never removed. One stands for all regions that are not
	// told apart, here or by package spans: no hypothesis is about it.
	regions *registry.Registry[profile.Region, class]

	wrappersOnly bool // for tests of what the wrappers do, in programs where the scheduler would do it

	mu      sync.Mutex
	watcher *run // whose observation is in force

	ledgers  ledgers
	calls    callTable
	answered atomic.Uint64 // how many calls of itself the process has answered
}

func init() {
	live.frame, live.class = spans.NewSlot[ledger.Frame](), spans.NewNameSlot[class]()
	live.membership = sync.OnceValue(spans.NewSlot[membership])
	if sched.Present {
		live.membership()
		live.scheduledSpan = spans.NewSlot[scheduledSpan]()
	}
	live.regions = registry.New(maxClasses, hashOf, func(int) *class {
		return &class{id: ledger.NoRegion, key: profile.Region{Name: "other"}}
	})
}

// observe puts an observation in force, which may be nil, if no other run has one. It reports whether
// it did.
func (run *run) observe(o *observation) bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	if live.watcher != nil && live.watcher != run {
		return false
	}
	live.watcher = run
	live.observation.Store(o)
	return true
}

// unobserve ends what the run observes.
func (run *run) unobserve() {
	live.mu.Lock()
	defer live.mu.Unlock()
	if live.watcher == run {
		live.watcher = nil
		live.observation.Store(nil)
	}
}

// unobserved drops all ledgers, unless a run observes something.
func unobserved() {
	live.mu.Lock()
	defer live.mu.Unlock()
	if live.watcher == nil {
		live.ledgers.clear(clock.Now())
	}
}

// addRunning has Progress count for a run.
func addRunning(r *run) {
	changeRunning(func(runs []*run) []*run { return append(runs, r) })
}

// removeRunning ends that.
func removeRunning(r *run) {
	changeRunning(func(runs []*run) []*run { return slices.DeleteFunc(runs, func(have *run) bool { return have == r }) })
}

// changeRunning calls change with a copy.
func changeRunning(change func([]*run) []*run) {
	live.mu.Lock()
	defer live.mu.Unlock()
	var runs []*run
	if p := live.runs.Load(); p != nil {
		runs = slices.Clone(*p)
	}
	runs = change(runs)
	live.runs.Store(&runs)
}

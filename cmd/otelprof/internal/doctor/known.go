package doctor

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/internal/perf/known"
	"github.com/otelprof/otelprof/pmuattrs"
)

// StatusOff is how a count came out that is not what it must be.
const StatusOff Status = "off"

// A KnownCount holds what a counter has counted in work of which the count is known against what it
// must have been. All counts are for each round of the work.
type KnownCount struct {
	Work  string `json:"work"`
	Event string `json:"event"`
	// Status is ok, or off where a count is not as expected, or untried where the event cannot be
	// counted here.
	Status Status `json:"status"`
	// Counted is the lower quartile of several runs, read with system calls, and CountedInUser
	// what was read without; nil where that is not done here.
	Counted       *float64 `json:"counted"`
	CountedInUser *float64 `json:"counted_in_user"`
	// Least and Most are what is expected on any CPU.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Detail is why there is no count; empty where there is one.
	Detail string `json:"detail,omitempty"`
}

// CheckCounters runs work of which it is known what the CPU counts in it, and counts: additions
// that each wait for the one before, branches that no predictor foretells, and a walk through
// memory that no prefetcher does. It takes up to a second or two of one processor and up to 256 MiB
// of memory. The error wraps [ErrNotSupported] or [ErrPermission] where nothing can be counted.
//
// A count that is as expected shows that counter and reading are to be trusted on this machine. One
// that is off shows that they are not, or, of the caches, that the event means something else on
// this CPU.
func CheckCounters() ([]KnownCount, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	probe, err := perf.Open([]perf.Event{cycles.perf})
	if err != nil {
		return nil, fmt.Errorf("doctor: check of counters: %w", err)
	}
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("doctor: check of counters: %w", err)
	}
	if known.AddsInstructions == 0 {
		return nil, fmt.Errorf("doctor: check of counters: %w: no known work for %s", pmuattrs.ErrNotSupported, runtime.GOARCH)
	}
	var all []KnownCount
	for _, w := range knownWork(perf.LastCacheBytes()) {
		for _, e := range w.expect {
			all = append(all, w.count(e))
		}
	}
	return all, nil
}

// A workload is run in rounds.
type workload struct {
	name   string
	rounds int
	run    func(rounds int)
	expect []expectation
}

// An event is what a workload is counted by, under the name that package pmuattrs has for it.
type event struct {
	name string
	perf perf.Event
}

var (
	cycles             = event{"cycles", perf.Event{Type: perf.TypeHardware, Config: perf.Cycles}}
	instructions       = event{"instructions", perf.Event{Type: perf.TypeHardware, Config: perf.Instructions}}
	cacheMisses        = event{"cache_misses", perf.Event{Type: perf.TypeHardware, Config: perf.CacheMisses}}
	branchInstructions = event{"branch_instructions", perf.Event{Type: perf.TypeHardware, Config: perf.BranchInstructions}}
	branchMisses       = event{"branch_misses", perf.Event{Type: perf.TypeHardware, Config: perf.BranchMisses}}
	l1dReadMisses      = event{"l1d.read_misses", perf.Event{Type: perf.TypeCache, Config: perf.L1DReadMisses}}
)

// An expectation is what each round must count.
type expectation struct {
	event       event
	least, most float64
}

// slack is what the reading itself, an interrupt or a signal may add to a count.
const slack = 0.01

// about expects a count that is known exactly.
func about(e event, n float64) expectation { return expectation{e, n * (1 - slack), n * (1 + slack)} }

// Sizes of the memory that is walked through.
const (
	leastWalk = 64 << 20
	mostWalk  = 256 << 20
)

// knownWork returns the work for a machine whose last cache has lastCache bytes, 0 if that is not
// known.
func knownWork(lastCache int) []workload {
	size := min(max(2*lastCache, leastWalk), mostWalk)
	// Lines that are still in the cache when the walk comes by again are no misses, and neighbours
	// add some.
	missing := 0.0
	if lastCache > 0 {
		missing = max(0, 0.8-float64(lastCache)/float64(size))
	}
	var walk *known.Walk
	seed := uint64(0)
	return []workload{
		{"dependent additions", 20_000, func(n int) { known.Adds(uint64(n)) }, []expectation{
			about(instructions, known.AddsInstructions),
			// The loop itself costs at most a few cycles more.
			{cycles, known.AddsChain * (1 - slack), known.AddsChain * 1.5},
			about(branchInstructions, 1),
			{branchMisses, 0, slack},
		}},
		{"random branches", 20_000, func(n int) { seed++; known.Branches(uint64(n), seed*0x9e3779b97f4a7c15) }, []expectation{
			about(instructions, known.BranchesInstructions),
			{branchInstructions, 1.5 * (1 - slack), known.Branched * (1 + slack)}, // some CPUs count only taken ones, 1.5
			{branchMisses, 0.4 * known.BranchesRandom, 0.6 * known.BranchesRandom},
		}},
		{"walk through memory", 50_000, func(n int) {
			if walk == nil {
				walk = known.NewWalk(size)
			}
			walk.Go(n)
		}, []expectation{
			{l1dReadMisses, 0.9, 3},
			{cacheMisses, missing, 3},
		}},
	}
}

// count holds an event against what is expected of it.
func (w workload) count(e expectation) KnownCount {
	k := KnownCount{Work: w.name, Event: e.event.name, Status: StatusUntried, Least: e.least, Most: e.most}
	kernel, user, err := w.measure(e.event)
	if err != nil {
		k.Detail = denial(err)
		return k
	}
	k.Counted, k.CountedInUser, k.Status = kernel, user, StatusOK
	for _, counted := range []*float64{kernel, user} {
		if counted != nil && !(*counted >= e.least && *counted <= e.most) {
			k.Status = StatusOff
		}
	}
	return k
}

// knownRuns is how often work is done, for less than the 10 ms after which the runtime sends a
// signal to preempt it. What interrupts a run only adds to it: the lower quartile leaves that out.
const knownRuns = 21

// measure returns the count of a round, read in both ways if there are two.
func (w workload) measure(e event) (kernel, user *float64, err error) {
	g, err := perf.Open([]perf.Event{e.perf})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	w.run(w.rounds) // warms up
	var counts [2][]float64
	for range knownRuns {
		var before, after [2]perf.Values
		if err := g.ReadKernel(&before[0]); err != nil {
			return nil, nil, err
		}
		inUser := g.UserSpace() && g.ReadUser(&before[1])
		w.run(w.rounds)
		inUser = inUser && g.ReadUser(&after[1])
		if err := g.ReadKernel(&after[0]); err != nil {
			return nil, nil, err
		}
		counts[0] = append(counts[0], float64(after[0].Counts[0]-before[0].Counts[0])/float64(w.rounds))
		if inUser {
			counts[1] = append(counts[1], float64(after[1].Counts[0]-before[1].Counts[0])/float64(w.rounds))
		}
	}
	kernel = lowerQuartile(counts[0])
	if len(counts[1]) > knownRuns/2 {
		user = lowerQuartile(counts[1])
	}
	return kernel, user, nil
}

func lowerQuartile(of []float64) *float64 {
	slices.Sort(of)
	q := math.Round(1e4*of[len(of)/4]) / 1e4
	return &q
}

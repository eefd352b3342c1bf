package causal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/goroutine"
)

// ModeVirtual is the mode of answers for which nothing is delayed: they are read off virtual
// clocks that goroutines hand to each other.
const ModeVirtual Mode = "virtual"

// A virtual observes hypotheses all the time, a few regions in turn, while no experiment
// delays anything.
type virtual struct {
	load   *load
	audit  *audit
	broken atomic.Bool // it has panicked, and is off for good
	panics sync.Once

	mu      sync.Mutex
	series  map[cell]*series
	periods map[string]time.Duration // by progress point, at the last look
	started time.Time
	facts   facts
}

// A cell is one question: what if this region were faster by speedup, as seen at this progress
// point.
type cell struct {
	region   RegionKey
	progress string
	metric   Metric
	speedup  float64
}

// series are the answers to one question, the latest ones.
type series struct{ reductions []float64 }

// facts are what has been seen of the quality of windows.
type facts struct {
	windows, saturated       int
	elapsed                  time.Duration
	attributed, unattributed time.Duration
	locks                    time.Duration // waits for those of package sync
}

const (
	// A turn is how long a set of hypotheses is carried.
	turn     = 8 * time.Second
	settling = 500 * time.Millisecond
	// rankedOver is over how many turns the time is added up that decides which regions have one: a
	// region that is rare is not missed because nobody has asked for it just now.
	rankedOver = 8
	// maxSeries bounds the samples that are kept: the last five minutes or more.
	maxSeries = 300
	// maxCandidates is how many regions have a turn, those with the most self time;
	// leastShare is the part of all self time that makes a region worth it.
	maxCandidates = 16
	leastShare    = 0.005
	// maxPoints bounds the progress points that are observed at once.
	maxPoints = 8
	// saturation is the share of looks at processors that were short which spoils a window.
	saturation = 0.5
)

// virtualSpeedups are those asked for each region.
var virtualSpeedups = []float64{0.1, 0.25, 0.5, 0.75}

func newVirtual(a *audit) *virtual {
	return &virtual{load: &load{}, audit: a, series: map[cell]*series{}, periods: map[string]time.Duration{}, started: time.Now()}
}

// loop observes until ctx ends.
func (v *virtual) loop(ctx context.Context) {
	if !goroutine.Known() {
		return
	}
	defer unobserve(v)
	defer v.contain()
	before, asked := []map[*class]usage{usages()}, map[*class]int{}
	for turns := 1; ctx.Err() == nil && !v.broken.Load(); turns++ {
		candidates, points := rank(before[0])
		if len(candidates) == 0 || len(points) == 0 {
			// Nothing is asked yet, but spans and visits get counted.
			observe(v, &observation{setting: empty(), panicked: v.panicked}, false)
			sleep(ctx, settling)
			continue
		}
		// Those come first whose last turn is longest ago, and of these the ones with most time.
		slices.SortStableFunc(candidates, func(a, b *class) int { return cmp.Compare(asked[a], asked[b]) })
		chosen := candidates[:min(len(candidates), ledger.Width/len(virtualSpeedups))]
		o := v.newObservation(chosen, points)
		if o == nil || !observe(v, o, false) {
			sleep(ctx, settling)
			continue
		}
		if before = append(before, usages()); len(before) > rankedOver {
			before = before[1:]
		}
		patient := asked[chosen[0]] > 0
		for _, c := range chosen {
			asked[c] = turns
		}
		v.observe(ctx, o, patient)
	}
}

// newObservation asks about all speed-ups of the regions.
func (v *virtual) newObservation(regions, points []*class) *observation {
	var hypotheses []ledger.Hypothesis
	for _, c := range regions {
		for _, s := range virtualSpeedups {
			hypotheses = append(hypotheses, ledger.Hypothesis{Region: c.id, Speedup: s})
		}
	}
	setting, err := ledger.NewSetting(hypotheses, len(points))
	if err != nil {
		return nil
	}
	o := &observation{setting: setting, pointOf: make([]int8, len(allClasses())), panicked: v.panicked}
	for i := range o.pointOf {
		o.pointOf[i] = -1
	}
	for i, c := range points {
		o.points = append(o.points, c.key.Span)
		o.pointOf[c.id] = int8(i)
	}
	return o
}

// note books how waits have ended in a turn.
func (v *virtual) note(c ledger.Counts, took, waited time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := &v.facts
	attributed := time.Duration(c.Attributed)
	f.elapsed += took
	f.attributed += attributed
	f.unattributed += time.Duration(c.Unattributed)
	f.locks += mutexWait() - waited
}

// forgetAfter is how long the ledger of a goroutine is kept that gives no sign of life.
const forgetAfter = 5 * time.Second

// ask adds samples, or just the question. What a progress point says of itself is left out: it is the
// speed-up.
func (v *virtual) ask(h ledger.Hypothesis, progress string, m Metric, reductions ...float64) {
	region := allClasses()[h.Region].key
	if region.Span == progress {
		return
	}
	key := cell{region, progress, m, h.Speedup}
	s := v.series[key]
	if s == nil {
		s = &series{}
		v.series[key] = s
	}
	s.reductions = append(s.reductions, reductions...)
	s.reductions = s.reductions[max(0, len(s.reductions)-maxSeries):]
}

// addTo adds the curves of virtual time to a profile.
func (v *virtual) addTo(p *Profile) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.Started.IsZero() {
		p.Started = v.started
	}
	curves := map[cell]*Curve{} // without the speed-up
	var order []cell
	for key := range v.series {
		key.speedup = 0
		if curves[key] == nil {
			base := time.Duration(0) // of latency it is not kept
			if key.metric == MetricThroughput {
				base = v.periods[key.progress]
			}
			c := newCurve(ModeVirtual, key.region, key.progress, key.metric, base)
			curves[key] = &c
			order = append(order, key)
		}
	}
	slices.SortFunc(order, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.region.Span, b.region.Span), cmp.Compare(a.region.Scope, b.region.Scope),
			cmp.Compare(a.progress, b.progress), cmp.Compare(a.metric, b.metric))
	})
	for _, key := range order {
		c := curves[key]
		for _, s := range virtualSpeedups {
			at := key
			at.speedup = s
			if got := v.series[at]; got != nil {
				c.Effects = append(c.Effects, v.facts.evidence().judge(effectOf(s, got.reductions, nil)))
			}
		}
		p.Curves = append(p.Curves, *c)
	}
	if v.facts.elapsed > 0 {
		e := v.facts.evidence()
		p.Waiting = append(p.Waiting, Waiting{ModeVirtual, e.attributed, e.unattributed})
	}
	if v.broken.Load() {
		p.Notes = append(p.Notes, "virtual time is off: it has panicked, as the audit tells")
	}
	if v.facts.saturated > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("virtual time: %d of %d windows left out, in which goroutines waited for a processor", v.facts.saturated, v.facts.windows))
	}
}

// evidence is what is known of all cells alike.
func (f *facts) evidence() evidence {
	return evidence{
		mode: ModeVirtual, ends: -1, elapsed: f.elapsed,
		attributed: f.attributed, unattributed: f.unattributed + untold(f.locks, f.attributed, f.elapsed),
		saturated: float64(f.saturated) / float64(max(1, f.windows)),
	}
}

// rank returns the regions that have taken the most time since before, and the progress points
// that were visited most: those of Progress calls come before local roots.
func rank(before map[*class]usage) (regions, points []*class) {
	now := usages()
	since := func(c *class) usage {
		return usage{now[c].self - before[c].self, now[c].count - before[c].count}
	}
	total := int64(0)
	var roots []*class
	for _, c := range allClasses() {
		total += since(c).self
	}
	for _, c := range allClasses() {
		t := since(c)
		if t.self > 0 && float64(t.self) >= leastShare*float64(total) {
			regions = append(regions, c)
		}
		if t.count > 0 && c.root.Load() {
			roots = append(roots, c)
		}
	}
	slices.SortStableFunc(regions, func(a, b *class) int { return cmp.Compare(since(b).self, since(a).self) })
	if p := named.classes.Load(); p != nil {
		for _, c := range *p {
			if since(c).count > 0 {
				points = append(points, c)
			}
		}
	}
	often := func(a, b *class) int {
		return cmp.Or(cmp.Compare(since(b).count, since(a).count), cmp.Compare(a.id, b.id))
	}
	slices.SortFunc(points, often)
	slices.SortFunc(roots, often)
	points = append(points, roots...)
	return regions[:min(len(regions), maxCandidates)], points[:min(len(points), maxPoints)]
}

// empty is a setting without a question.
func empty() *ledger.Setting {
	s, err := ledger.NewSetting(nil, 0)
	if err != nil {
		return nil
	}
	return s
}

// sleep waits for d and reports whether ctx is still valid.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

package replay

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/stats"
)

// A batcher may take the longer the larger a batch is: a fixed time, and a time for each request in it. Which of its times grow, and by
// how much, is inferred from the batches of the recording, as far as these differ in size. The unknown rest bounds the answer from both sides.

const (
	// bySize is which part of the mean length of a round its size may make a difference of without that being known.
	bySize = 0.05
	// sigmas is by how many standard errors a slope must differ from 0 to be one, and by how many it may be off.
	sigmas = 3
	// leastOfSize is how many rounds of a size show how long these are.
	leastOfSize = 5
)

// A growth is how long something takes in a round, ns: so long, and so long for each request of the batch.
type growth struct{ fixed, each float64 }

// factor is by how much longer that takes in a batch of now requests than in one of then.
func (g growth) factor(then, now float64) float64 {
	if g.each == 0 {
		return 1
	}
	return (g.fixed + g.each*now) / (g.fixed + g.each*then)
}

// growths are those of a batcher's rounds.
type growths struct {
	computing growth
	outside   []growth // by set of regions
}

// A trend is the line through times by sizes, by least squares.
type trend struct {
	size, time float64 // the means
	slope, err float64 // for each request, and its standard error: infinite where there is one size only
}

func trendOf(sizes, times []float64) trend {
	n := float64(len(sizes))
	t := trend{err: math.Inf(1)}
	for i := range sizes {
		t.size += sizes[i] / n
		t.time += times[i] / n
	}
	var xx, xy, yy float64
	for i := range sizes {
		x, y := sizes[i]-t.size, times[i]-t.time
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	if xx > 0 && n > 2 {
		t.slope = xy / xx
		t.err = math.Sqrt(max(0, yy-t.slope*xy) / (n - 2) / xx)
	}
	return t
}

// grows reports whether the slope is not one by chance.
func (t *trend) grows() bool { return math.Abs(t.slope) > sigmas*t.err }

// growth returns what grows by so much for each request, no part of which is below 0.
func (t *trend) growth(slope float64) growth {
	slope = min(max(slope, 0), t.time/t.size)
	return growth{t.time - slope*t.size, slope}
}

// straight reports whether rounds of each size are as long as the trend has it.
func (t *trend) straight(sizes, times []float64) bool {
	off := map[float64][]float64{}
	for i, size := range sizes {
		off[size] = append(off[size], times[i]-t.time-t.slope*(size-t.size))
	}
	for _, all := range off {
		if len(all) >= leastOfSize && math.Abs(mean(all)) > max(2*bySize*t.time, sigmas*stats.StdErr(all)) {
			return false
		}
	}
	return true
}

// A task is the work on one batch: what was done, for how long, and how many requests that was for.
type task struct {
	ops  []op
	took int64
	size int
}

// A growing holds how tasks get longer with their sizes, and the least and the most that may be; nil for not, and where that is known.
type growing struct{ growths, least, most *growths }

// grow finds how tasks get longer with their sizes, and reports false if that is not by so much for each request, or not by what the goroutine
// does itself.
func (x *growing) grow(p *program, tasks []task) bool {
	sizes, all, computing := make([]float64, len(tasks)), make([]float64, len(tasks)), make([]float64, len(tasks))
	outside := make([][]float64, len(p.sets))
	for i := range tasks {
		sizes[i], all[i] = float64(tasks[i].size), float64(tasks[i].took)
		for k := range tasks[i].ops {
			switch o := &tasks[i].ops[k]; o.kind {
			case opRun:
				computing[i] += float64(o.d)
			case opOut:
				if outside[o.set] == nil {
					outside[o.set] = make([]float64, len(tasks))
				}
				outside[o.set][i] += float64(o.d)
			}
		}
	}
	total := trendOf(sizes, all)
	if off := min(sigmas*total.err, total.time/total.size); off*total.size > bySize*total.time {
		x.least, x.most = p.alike(total.growth(total.slope-off)), p.alike(total.growth(total.slope+off))
	}
	if !total.grows() {
		return total.straight(sizes, all)
	}
	told := 0.0
	find := func(times []float64) (g growth) {
		if t := trendOf(sizes, times); t.grows() {
			g = t.growth(t.slope)
			told += g.each
		}
		return g
	}
	x.growths = &growths{find(computing), make([]growth, len(outside))}
	for set, times := range outside {
		if times != nil {
			x.growths.outside[set] = find(times)
		}
	}
	return total.straight(sizes, all) && math.Abs(total.slope-told) <= max(bySize*total.time/total.size, sigmas*total.err)
}

// alike are growths of all times by the same part.
func (p *program) alike(g growth) *growths {
	return &growths{g, slices.Repeat([]growth{g}, len(p.sets))}
}

// resized returns the program with rounds that grow as little and as much with their sizes as may be, none where that is known.
func (p *program) resized() (all []*program) {
	if !slices.ContainsFunc(p.objects, func(o objectInfo) bool { return o.least != nil }) {
		return nil
	}
	for _, most := range []bool{false, true} {
		x := *p // its instructions are the same
		x.spare, x.objects = nil, slices.Clone(p.objects)
		for i := range x.objects {
			switch o := &x.objects[i]; {
			case o.least == nil:
			case most:
				o.growths = o.most
			default:
				o.growths = o.least
			}
		}
		all = append(all, &x)
	}
	return all
}

// strained returns how long a runner computes for the batch that it works on.
func (s *simulation) strained(r *runner, d int64) int64 {
	g := s.p.objects[r.batch-1].growths
	if g == nil {
		return d
	}
	return s.grown(r, g.computing, d)
}

// stretched returns how long something outside takes for the batch that a runner works on.
func (s *simulation) stretched(r *runner, set uint16, d int64) int64 {
	g := s.p.objects[r.batch-1].growths
	if g == nil {
		return d
	}
	return s.grown(r, g.outside[set], d)
}

// grown returns how long something that grows takes for the batch that a runner works on.
func (s *simulation) grown(r *runner, g growth, d int64) int64 {
	return int64(float64(d) * g.factor(float64(r.size), float64(s.objects[r.batch-1].elements.len())))
}

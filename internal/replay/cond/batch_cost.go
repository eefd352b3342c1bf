package cond

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/stats"
)

// Mean returns the mean, 0 of nothing.
func Mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// The cost of a batch. A batcher may take the longer the larger a batch is: a fixed time, and a
// time for each request in it,
//
//	time = fixed + each * size
//
// as fsync takes the same for any number of writes, and encoding them does not. Faster commits make
// smaller batches: these take as long if all of the time is fixed, and less in proportion if all of
// it is for requests. Which of its times grow, and by how much, is inferred from the batches of the
// recording by least squares, as far as these differ in size. The unknown rest bounds the answer
// from both sides (Least, Most and Resized).
//
// The principle: the sizes are decided by when requests come, not by the work, so that they are as
// good as an experiment. When it is wrong: something else decides both, as a stall does in which
// more requests gather and the work is slow, too; or the time is not linear in the size, which
// straight rejects. TestBatches has fixed times, times by size and both; TestResized has batches of
// one size only, for which the truth must lie within the bounds.

const (
	// bySize is which part of the mean length of a round its size may make a difference of without
	// that being known, of 1. Larger, and slopes that matter pass for none; smaller, and more
	// answers are bounds.
	bySize = 0.05
	// sigmas is by how many standard errors a slope must differ from 0 to be one, and by how many
	// it may be off: where there is none, 0.3 % of slopes differ by more (normal distribution).
	sigmas = 3
	// leastOfSize is how many rounds of a size show how long these are: sizes with fewer do not
	// contradict the line.
	leastOfSize = 5
)

// A trend is the line through times, ns, by sizes, in requests, by least squares.
type trend struct {
	size, time float64 // the means
	slope, err float64 // for each request, and its standard error; infinite with one size only
}

// trendOf returns the trend of one round at least; both are by round. The error is that of ordinary
// least squares: the residual variance, of n-2 degrees of freedom, over the spread of the sizes.
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

// growth returns what grows by so much for each request, no part of which is below 0: at least
// nothing for each, at most nothing fixed. The mean stays: at the mean size it is the mean time.
func (t *trend) growth(slope float64) model.Growth {
	slope = min(max(slope, 0), t.time/t.size)
	return model.Growth{Fixed: t.time - slope*t.size, Each: slope}
}

// straight reports whether rounds of each size are as long as the trend has it, within a tenth of a
// round or what their own scatter leaves open. Work that doubles at some size, for one more page,
// is not straight.
func (t *trend) straight(sizes, times []float64) bool {
	off := map[float64][]float64{}
	for i, size := range sizes {
		off[size] = append(off[size], times[i]-t.time-t.slope*(size-t.size))
	}
	for _, all := range off {
		if len(all) >= leastOfSize && math.Abs(Mean(all)) > max(2*bySize*t.time, sigmas*stats.StdErr(all)) {
			return false
		}
	}
	return true
}

// A task is the work on one batch: what was done, for how long, ns, and how many requests that was
// for.
type task struct {
	ops  []model.Op
	took int64
	size int
}

// grow finds how tasks get longer with their sizes, and reports false if that is not by so much for
// each request, or not by what the goroutine does itself. Tasks are not empty, and each is for one
// request at least. It fills in x: Growths where there is a slope, Least and Most where it is known
// less well than bySize.
func grow(x *model.Growing, p *model.Program, tasks []task) bool {
	// Computing and waiting for something outside, the latter by region, grow each for itself: a
	// region that is made faster takes its own part of the growth along.
	sizes, all, computing := make([]float64, len(tasks)), make([]float64, len(tasks)), make([]float64, len(tasks))
	outside := make([][]float64, len(p.Sets))
	for i := range tasks {
		sizes[i], all[i] = float64(tasks[i].size), float64(tasks[i].took)
		for k := range tasks[i].ops {
			switch o := &tasks[i].ops[k]; o.Kind {
			case model.OpRun:
				computing[i] += float64(o.D)
			case model.OpOut:
				if outside[o.Set] == nil {
					outside[o.Set] = make([]float64, len(tasks))
				}
				outside[o.Set][i] += float64(o.D)
			}
		}
	}
	total := trendOf(sizes, all)
	// With one size only the error is infinite, and the slope anything from 0 to all of the time.
	if off := min(sigmas*total.err, total.time/total.size); off*total.size > bySize*total.time {
		x.Least, x.Most = alike(p, total.growth(total.slope-off)), alike(p, total.growth(total.slope+off))
	}
	if !total.grows() {
		return total.straight(sizes, all)
	}
	// The parts must add up to the whole: the rest would be a wait for another goroutine, which is
	// longer for larger batches by what that one does.
	told := 0.0
	find := func(times []float64) (g model.Growth) {
		if t := trendOf(sizes, times); t.grows() {
			g = t.growth(t.slope)
			told += g.Each
		}
		return g
	}
	x.Growths = &model.Growths{Computing: find(computing), Outside: make([]model.Growth, len(outside))}
	for set, times := range outside {
		if times != nil {
			x.Growths.Outside[set] = find(times)
		}
	}
	return total.straight(sizes, all) && math.Abs(total.slope-told) <= max(bySize*total.time/total.size, sigmas*total.err)
}

// alike are growths of all times by the same part: with an unknown slope it is not known either of
// which time it is. Only the ratio of fixed and each matters then, see Growth.Factor.
func alike(p *model.Program, g model.Growth) *model.Growths {
	return &model.Growths{Computing: g, Outside: slices.Repeat([]model.Growth{g}, len(p.Sets))}
}

// Resized returns the program with rounds that grow as little and as much with their sizes as may
// be, in this order, none where that is known. Both share lists and instructions with p, which must
// not change any more.
func Resized(p *model.Program) (all []*model.Program) {
	if !slices.ContainsFunc(p.Objects, func(o model.ObjectInfo) bool { return o.Least != nil }) {
		return nil
	}
	for _, most := range []bool{false, true} {
		x := *p // its instructions are the same
		x.Spare, x.Objects = nil, slices.Clone(p.Objects)
		for i := range x.Objects {
			switch o := &x.Objects[i]; {
			case o.Least == nil:
			case most:
				o.Growths = o.Most
			default:
				o.Growths = o.Least
			}
		}
		all = append(all, &x)
	}
	return all
}

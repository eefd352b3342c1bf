package model

import (
	"cmp"
	"slices"
	"sort"
)

// A Lateness is how long a goroutine was ready before it ran, while a processor was idle. It is
// censored where a processor that had been busy took the goroutine: the idle one would have taken
// longer.
type Lateness struct {
	Ns       int64
	censored bool
}

// A Survival is the Kaplan-Meier estimate of how late goroutines are: shares[i] of them are later
// than at[i].
type Survival struct {
	at     []int64
	shares []float64
	seen   int // how many are not censored
}

// leastLater is how many must be later than a time, to estimate by how much.
const leastLater = 5

// SurvivalOf returns the distribution of latencies (Kaplan and Meier); it sorts all.
func SurvivalOf(all []Lateness) Survival {
	slices.SortFunc(all, func(a, b Lateness) int { return cmp.Compare(a.Ns, b.Ns) })
	var v Survival
	share := 1.0
	for i := 0; i < len(all); {
		seen, k := 0, i
		for ; k < len(all) && all[k].Ns == all[i].Ns; k++ {
			if !all[k].censored {
				seen++
			}
		}
		if v.seen += seen; seen > 0 {
			share *= 1 - float64(seen)/float64(len(all)-i)
			v.at, v.shares = append(v.at, all[i].Ns), append(v.shares, share)
		}
		i = k
	}
	return v
}

// median returns how late half of those are at least that are later than a time, or otherwise where
// that is not known.
func (v *Survival) median(later, otherwise int64) int64 {
	share := 1.0
	if i := sort.Search(len(v.at), func(i int) bool { return v.at[i] > later }); i > 0 {
		share = v.shares[i-1]
	}
	i := sort.Search(len(v.at), func(i int) bool { return v.shares[i] <= share/2 })
	if len(v.at)-i < leastLater/2+1 || share == 0 { // the few that are so late say nothing about others
		return max(later, otherwise)
	}
	return v.at[i]
}

// Codes of Op.Late that are not a time.
const lateUnknown = -1

// lateCensored returns the code of a goroutine that a busy processor took after a time.
func lateCensored(ns int64) int32 { return int32(-2 - min(ns, 1<<30)) }

// Settle replaces codes by times.
func (b *Builder) Settle() {
	outside, cross := SurvivalOf(b.Outside), SurvivalOf(b.cross)
	b.P.Outside = outside.median(-1, 5_000)
	otherwise := int64(50_000)
	if len(outside.at) > 0 && b.P.Rec.Procs > 1 { // a single processor is awake when it finds what something outside wakes
		otherwise = b.P.Outside
	}
	b.P.Cross = cross.median(-1, otherwise)
	b.P.Lags = cross.Quantiles(LagsKept, b.P.Cross)
	for i := range b.P.Lists {
		for k := range b.P.Lists[i].Ops {
			b.P.Rec.RestsAt(k)
			if o := &b.P.Lists[i].Ops[k]; o.Late < lateUnknown {
				c := int64(-2 - o.Late)
				o.Late = int32(min(cross.median(c, b.P.Cross), 1<<30)) // also of what something outside wakes: that is another processor, too
			}
		}
	}
}

// A goroutine that computes keeps its processor until the runtime's monitor finds that it has had
// it for 10 ms. The monitor is a thread like others: where all processors compute, and other
// programs do, it comes late, and slices are as long as a fifth of a second. What the recording
// shows is done in the replay, one slice after the other.

const (
	// leastSlice is what a goroutine has its processor for that the monitor takes away, ns; others
	// were stopped for something else.
	leastSlice = 9_000_000
	// LeastSlices is how many must have been seen.
	LeastSlices = 5
)

// yielded books for how long a goroutine had its processor when it was taken away.
func (b *Builder) yielded(g int32, at int64) {
	f := &b.G[g]
	if f.State != Running || f.began == 0 {
		return
	}
	if d := at - f.began; d >= leastSlice {
		b.P.Slices = append(b.P.Slices, d)
	}
}

// A processor that is idle sleeps, and one that a goroutine wakes up for another takes up to 100 µs
// to come back, more than a lock is held. Where a lock is held most of the time (lock convoy) each
// goroutine waits for that, each time: the program gets slower the faster goroutines come to the
// lock. How long it takes differs by machine and priority. The recording shows it, if there are
// wake-ups in it.

// What waking a processor up may make an answer wrong by.
const (
	// RouseError is how long it may take at most, ns, by how much an answer may be wrong for each
	// processor that is woken up less often than in the recording; and LeastRouse at least.
	RouseError = 100_000
	LeastRouse = 5_000
	// MostRouse is how long it may take at most where the recording has too few: its upper quartile
	// on virtual processors that other programs use, too.
	MostRouse = 200_000
	// LeastRoused is how often a recording must have it, to show how long it takes within a half.
	LeastRoused = 30
	RouseSpread = 0.5
	// RouseMatters is which part of the time between visits it must take, for what it takes to
	// matter.
	RouseMatters = 0.005
)

// How latencies are kept.
const (
	// LagsKept is how many of the times are kept, at even parts of all of them, and LagStride the
	// way through these, for slow and fast ones to take turns.
	LagsKept  = 64
	LagStride = 39
)

// Quantiles returns n times at even parts of the known ones, nil where these are too few. What is
// later than twice the usual time has another cause, such as another program, and is taken for
// that.
func (v *Survival) Quantiles(n int, usual int64) []int64 {
	if v.seen < LeastRoused {
		return nil
	}
	all := make([]int64, n)
	i := 0
	for k := range all {
		for left := 1 - (float64(k)+0.5)/float64(n); i < len(v.at)-1 && v.shares[i] > left; {
			i++
		}
		if all[k] = v.at[i]; all[k] > 2*usual {
			all[k] = usual
		}
	}
	return all
}

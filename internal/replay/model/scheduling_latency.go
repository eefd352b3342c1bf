package model

import (
	"cmp"
	"slices"
	"sort"
)

// Scheduling latency: how long a goroutine is ready before it runs although a processor is idle. Go
// wakes a thread for it (runtime/proc.go: ready calls wakep), which the kernel has to schedule. On
// a busy processor it waits for a turn instead, which the replay decides anew. So what must be
// measured is how long an idle processor takes to come back, and only that.
//
// A recording has both at once. Goroutine 2 is made ready at 0, while processor B sleeps:
//
//	processor A   goroutine 1 runs ... | 2     it takes goroutine 2 at 30 µs
//	processor B   sleeps, is woken ........    it needs more than 30 µs, and is not seen
//
// A time that is only known to be longer than what was seen is right-censored. To leave these out
// would make processors faster than they are, since slow wake-ups are censored most often; to take
// them as they are would, too. The product-limit estimate takes both kinds (Kaplan and Meier,
// Nonparametric Estimation from Incomplete Observations, 1958). It takes it that the time at which
// A became free has nothing to do with how long B takes.

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
	at     []int64   // ns, increasing: the times that are not censored, each once
	shares []float64 // decreasing, in [0, 1]; the last one is 0 unless the longest time is censored
	seen   int       // how many are not censored
}

// leastLater is how many must be later than a time, to estimate by how much. The median of five has
// two above it.
const leastLater = 5

// SurvivalOf returns the distribution of latencies (Kaplan and Meier); it sorts all. At each time
// the share that is left falls by the part of those at risk that is seen to be just as late. At
// risk are all that are at least as late, with those censored at that time.
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
// that is not known: the conditional median, ns. Later is -1 for all. With a time of 30 µs that was
// censored it is what an idle processor takes that has not come back after 30 µs.
func (v *Survival) median(later, otherwise int64) int64 {
	share := 1.0
	if i := sort.Search(len(v.at), func(i int) bool { return v.at[i] > later }); i > 0 {
		share = v.shares[i-1]
	}
	i := sort.Search(len(v.at), func(i int) bool { return v.shares[i] <= share/2 })
	// The few that are so late are no measure of others.
	if len(v.at)-i < leastLater/2+1 || share == 0 {
		return max(later, otherwise)
	}
	return v.at[i]
}

// Codes of Op.Late that are not a time. A censored time t is -2-t, so that all codes are below 0
// and differ from the one for not known.
const lateUnknown = -1

// lateCensored returns the code of a goroutine that a busy processor took after a time, ns, of
// which up to a second is kept.
func lateCensored(ns int64) int32 { return int32(-2 - min(ns, 1<<30)) }

// Settle replaces codes by times, and sets the usual latencies of the program. Goroutines that a
// goroutine wakes and those woken by something outside differ: for the latter a thread was in the
// poller, and has come back when the wait is seen to be over. Where the recording has none, 5 µs
// are taken for the latter, and for the former as long as these take, or 50 µs on one processor or
// without either (TestLagOfOneProcessor).
func (b *Builder) Settle() {
	outside, cross := SurvivalOf(b.Outside), SurvivalOf(b.cross)
	b.P.Outside = outside.median(-1, 5_000)
	otherwise := int64(50_000)
	// A single processor is awake when it finds what something outside wakes.
	if len(outside.at) > 0 && b.P.Rec.Procs > 1 {
		otherwise = b.P.Outside
	}
	b.P.Cross = cross.median(-1, otherwise)
	b.P.Lags = cross.Quantiles(LagsKept, b.P.Cross)
	for _, o := range b.P.All() {
		if o.Late < lateUnknown {
			// Also of what something outside wakes: that is another processor, too.
			c := int64(-2 - o.Late)
			o.Late = int32(min(cross.median(c, b.P.Cross), 1<<30))
		}
	}
}

// A goroutine that computes keeps its processor until the runtime's monitor finds that it has had
// it for 10 ms. The monitor is a thread like others: where all processors compute, and other
// programs do, it comes late, and slices are as long as a fifth of a second. What the recording
// shows is done in the replay, one slice after the other. The 10 ms are forcePreemptNS in
// runtime/proc.go, which sysmon holds against the time since it first saw the goroutine (retake).
// TestSlices has slices of 40 ms, of 10 ms, and of 2 ms, which are none.

const (
	// leastSlice is what a goroutine has its processor for that the monitor takes away, ns: 10 ms,
	// with room for clocks. Others were stopped for something else, a call of runtime.Gosched or
	// the garbage collector.
	leastSlice = 9_000_000
	// LeastSlices is how many must have been seen. With fewer the replay has Go's 10 ms.
	LeastSlices = 5
)

// yielded books for how long a goroutine had its processor when it was taken away, system calls
// within that time included, in which it kept the processor.
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
// wake-ups in it. Lock convoys are of Blasgen, Gray, Mitoma and Price (The Convoy Phenomenon,
// 1979); that a goroutine which comes at the right time spins, and need not be woken, is in
// TestSpins.

// What waking a processor up may make an answer wrong by.
const (
	// RouseError is how long it may take at most, ns, by how much an answer may be wrong for each
	// processor that is woken up less often than in the recording; and LeastRouse at least.
	// TestRousing has what that adds to an interval.
	RouseError = 100_000
	LeastRouse = 5_000
	// MostRouse is how long it may take at most where the recording has too few: its upper quartile
	// on virtual processors that other programs use, too.
	MostRouse = 200_000
	// LeastRoused is how often a recording must have it, to show how long it takes within a half.
	LeastRoused = 30
	RouseSpread = 0.5
	// RouseMatters is which part of the time between visits it must take, for what it takes to
	// matter: half a point. Below that the simulations that would show it are not worth their time.
	RouseMatters = 0.005
)

// How latencies are kept.
const (
	// LagsKept is how many of the times are kept, at even parts of all of them, and LagStride the
	// way through these, for slow and fast ones to take turns. It has no divisor in common with
	// LagsKept, so that each is taken once in 64 times; 39/64 is near the golden section, so that
	// successive ones are far apart. No random numbers: a simulation gives the same each time.
	LagsKept  = 64
	LagStride = 39
)

// Quantiles returns n times at even parts of the known ones, nil where these are too few. What is
// later than twice the usual time has another cause, such as another program, and is taken for
// that. TestLags holds both.
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

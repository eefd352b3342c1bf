package replay

import (
	"cmp"
	"slices"
	"sort"
)

// A lateness is how long a goroutine was ready before it ran, while a processor was idle. It is censored where a processor that had
// been busy took the goroutine: the idle one would have taken longer.
type lateness struct {
	ns       int64
	censored bool
}

// A survival is the Kaplan-Meier estimate of how late goroutines are: shares[i] of them are later than at[i].
type survival struct {
	at     []int64
	shares []float64
	seen   int // how many are not censored
}

// leastLater is how many must be later than a time, to estimate by how much.
const leastLater = 5

func survivalOf(all []lateness) survival {
	slices.SortFunc(all, func(a, b lateness) int { return cmp.Compare(a.ns, b.ns) })
	var v survival
	share := 1.0
	for i := 0; i < len(all); {
		seen, k := 0, i
		for ; k < len(all) && all[k].ns == all[i].ns; k++ {
			if !all[k].censored {
				seen++
			}
		}
		if v.seen += seen; seen > 0 {
			share *= 1 - float64(seen)/float64(len(all)-i)
			v.at, v.shares = append(v.at, all[i].ns), append(v.shares, share)
		}
		i = k
	}
	return v
}

// median returns how late half of those are at least that are later than a time, or otherwise where that is not known.
func (v *survival) median(later, otherwise int64) int64 {
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

// Codes of op.late that are not a time.
const lateUnknown = -1

// lateCensored returns the code of a goroutine that a busy processor took after a time.
func lateCensored(ns int64) int32 { return int32(-2 - min(ns, 1<<30)) }

// settle replaces codes by times.
func (b *builder) settle() {
	outside, cross := survivalOf(b.outside), survivalOf(b.cross)
	b.p.outside = outside.median(-1, 5_000)
	otherwise := int64(50_000)
	if len(outside.at) > 0 && b.p.rec.Procs > 1 { // a single processor is awake when it finds what something outside wakes
		otherwise = b.p.outside
	}
	b.p.cross = cross.median(-1, otherwise)
	b.p.lags = cross.quantiles(lagsKept, b.p.cross)
	for i := range b.p.lists {
		for k := range b.p.lists[i].ops {
			b.p.rec.restsAt(k)
			if o := &b.p.lists[i].ops[k]; o.late < lateUnknown {
				c := int64(-2 - o.late)
				o.late = int32(min(cross.median(c, b.p.cross), 1<<30)) // also of what something outside wakes: that is another processor, too
			}
		}
	}
}

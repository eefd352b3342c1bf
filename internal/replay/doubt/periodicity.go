package doubt

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Is work done by time or by visits? A recording of a cache with a time to live has loads after 21,
// 19, 20 and 22 requests, and so has one that is good for about 20 uses. What differs is what
// predicts the next load. Three statistics are asked, in this order:
//
//   - Gaps, in rounds of one goroutine. Where 95 % are the same number, as 5, 5, 5, 5, rounds are
//     counted. Time would have to be as even as that to do the same.
//   - Dependence. If time decides, a round soon after one with the work has it less often than by
//     chance. If each round decides by itself (a coin, a cache miss by key), what was before
//     predicts nothing.
//   - Dispersion. If rounds of one goroutine show a dependence, gaps that vary less in rounds than
//     in time are counted.
//
// Dependence is a score over pairs of rounds. With e = 1 - p for a round that has the work and e =
// -p for one that has not, where p is how often its goroutine has it, each round's e is multiplied
// by the sum of e over the rounds that began a certain time before. Under chance these products are
// martingale differences: their sum divided by the root of their variances is about normal (the
// martingale central limit theorem). Far below 0, rounds that follow others with the work have
// less.
//
// TestRhythm in package replay holds this against caches that are loaded after a time to live, at
// random, each fifth time, after a number of uses, and by some of the clients alone.

// A Rhythm is what occasional work is done by.
type Rhythm uint8

// The rhythms.
const (
	Unclear  Rhythm = iota // too few occasions to decide
	PerVisit               // each n-th round, or by chance
	PerTime                // rounds soon after one that had it do not
)

const (
	// leastRegular is how many gaps between rounds with the work must be compared, to find that all
	// are of one number of rounds, and regular is which part of them must be. Ten gaps that differ
	// in two values by chance are all the same once in 512 times.
	leastRegular = 10
	regular      = 0.95
	// agreed is the same where rounds of several goroutines are counted together, so that their
	// order is not quite known.
	agreed = 0.9
	// leastTold is how many rounds must have the work to find that this is by chance, and leastSure
	// is how many must if they have it less often by some doubtful standard errors.
	leastTold = 40
	leastSure = 100
	doubtful  = 2.5
	// Unlikely is how many standard errors rounds soon after one with the work have less of it than
	// others, to find that this is not by chance. A normal variable is below that 3 times in
	// 100,000, but the lowest of seven bands is taken, of each kind of work in each window.
	Unlikely = 4
	// steady is what gaps must differ by, in parts of a round, to exclude that time makes them of
	// one number of rounds. Where one client has rounds that all take 4 ms, each fifth round and
	// each 20 ms are the same.
	steady = 0.3
	// clearly is below which part of the dispersion in time that in rounds must be, to find that it
	// is rounds that matter.
	clearly = 0.9
)

// Rhythm returns what work is done by. Rounds must be in order of time, and occasions too.
func (w *Occasional) Rhythm(p *model.Program) Rhythm {
	// The same number of rounds each time is counted, unless even rounds make even times. Of
	// several goroutines each would have to be as even, and out of step with the others.
	counts, times, rests, goroutines := w.gaps()
	if constant(counts, regular) {
		if goroutines > 1 || math.Sqrt(min(variance(times), variance(rests))) >= steady*w.roundTime() {
			return PerVisit
		}
		return Unclear
	}
	// Rounds of other goroutines matter by time, or by a count of all together, as where a value is
	// good for a number of uses. Rounds of the same goroutine matter by time, or by a count of its
	// own that is less than even.
	cross, own := w.Dependence()
	switch {
	case cross < -Unlikely && counted(p, w):
		return PerVisit
	case cross < -Unlikely, own < -Unlikely && dispersion(counts) > clearly*min(dispersion(times), dispersion(rests)):
		return PerTime
	}
	// No dependence is evidence of chance only if a dependence would have been seen: with few
	// rounds that have the work, or a hint of it, nothing is decided.
	taken := 0
	for i := range w.Rounds {
		if w.Rounds[i].taken() {
			taken++
		}
	}
	if taken < leastTold || taken < leastSure && min(cross, own) < -doubtful {
		return Unclear
	}
	return PerVisit
}

// apart returns how often the work is done, as once where it is begun again before it is over.
// Occasions are in order of time.
func (w *Occasional) apart() (n int) {
	until := int64(-1)
	for _, o := range w.Occasions {
		if o.At > until {
			n++
		}
		until = max(until, o.Until)
	}
	return n
}

// gaps returns how many rounds of one goroutine it takes from one with the work to the next, how
// long that is, with that work and without, ns, and of how many goroutines these are. A value may
// be good from when it was asked for, or from when it was there: so there are times with the work
// that ends a value's life, and rests without.
func (w *Occasional) gaps() (counts, times, rests []float64, goroutines int) {
	type last struct {
		n        int   // rounds since
		at, took int64 // of the last round with the work
		known    bool  // there was one
		told     bool  // the goroutine is counted
	}
	all := map[int32]*last{}
	for i := range w.Rounds {
		r := &w.Rounds[i]
		x := trace.Entry(all, r.Owner)
		x.n++
		if !r.taken() {
			continue
		}
		if x.known {
			d := r.At - x.at
			counts, times, rests = append(counts, float64(x.n)), append(times, float64(d)), append(rests, float64(d-x.took))
			if !x.told {
				goroutines++
			}
			x.told = true
		}
		x.n, x.at, x.took, x.known = 0, r.At, r.Took, true
	}
	return counts, times, rests, goroutines
}

// constant reports whether this part of counts are the same; false if there are fewer than
// leastRegular.
func constant(counts []float64, part float64) bool {
	if len(counts) < leastRegular {
		return false
	}
	often := map[float64]int{}
	most := 0
	for _, n := range counts {
		often[n]++
		most = max(most, often[n])
	}
	return float64(most) >= part*float64(len(counts))
}

// variance is that of a sample, 0 if there are fewer than two values.
func variance(v []float64) float64 {
	var sum, squares float64
	for _, x := range v {
		sum += x
	}
	mean := sum / float64(max(1, len(v)))
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return squares / float64(max(1, len(v)-1))
}

// dispersion is the coefficient of variation: it compares gaps in rounds with gaps in ns. Values
// are at least 0.
func dispersion(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += x
	}
	return math.Sqrt(variance(v)) * float64(len(v)) / max(1, sum)
}

// roundTime is how long a round takes on average, ns, with the work in it.
func (w *Occasional) roundTime() float64 {
	var sum int64
	for i := range w.Rounds {
		sum += w.Rounds[i].Until - w.Rounds[i].At
	}
	return float64(sum) / float64(len(w.Rounds))
}

// An owner is a goroutine with its rounds so far.
type owner struct {
	part   float64   // of its rounds that have the work, of 1
	rounds []int32   // in order of time
	sums   []float64 // of what was more than to be expected, up to each round, with 0 first
	from   int       // rounds from here on are in the band
	to     int       // and before here
}

// ownRounds is how many rounds of a goroutine show how often it does the work; for others it is
// taken to be as often as for all these. A server that has a goroutine for each request has no
// other. Goroutines differ: one client of six that does all of the work is no dependence.
const ownRounds = 10

// owners returns the goroutines of rounds.
func (w *Occasional) owners() map[int32]*owner {
	all := map[int32]*owner{}
	for i := range w.Rounds {
		r := &w.Rounds[i]
		x := trace.Entry(all, r.Owner)
		x.rounds = append(x.rounds, int32(i))
		if r.taken() {
			x.part++
		}
	}
	var few, rounds float64
	for _, x := range all {
		if len(x.rounds) < ownRounds {
			few, rounds = few+x.part, rounds+float64(len(x.rounds))
		}
	}
	for _, x := range all {
		if len(x.rounds) < ownRounds {
			x.part = few / rounds
		} else {
			x.part /= float64(len(x.rounds))
		}
	}
	return all
}

// bands are how long before a round others are that may decide on it, in mean gaps of the work:
// from one to the next. They double, since it is not known how long a value is good: a time to live
// shows in the band just below it, and fades in those above.
var bands = []float64{0, 0.5, 1, 2, 4, 8, 16, 32}

// Dependence returns by how many standard errors, below 0, rounds have the work less often while
// others had it a certain time before, in the band where that is most, for rounds of other
// goroutines, and of the same one. If each round has it by chance, that is a sum of martingale
// differences, since what was before does not predict what comes next.
func (w *Occasional) Dependence() (cross, own float64) {
	// Sums from the beginning make the sum of any stretch of rounds a difference of two.
	n := len(w.Rounds)
	owners := w.owners()
	sums := make([]float64, n+1)
	for i := range w.Rounds {
		sums[i+1] = sums[i] + w.surplus(i, owners)
	}
	for _, x := range owners {
		x.sums = make([]float64, 1, len(x.rounds)+1)
		for k, i := range x.rounds {
			x.sums = append(x.sums, x.sums[k]+w.surplus(int(i), owners))
		}
	}
	gap := float64(w.Rounds[n-1].At-w.Rounds[0].At) / float64(len(w.Occasions))
	for b := 1; b < len(bands); b++ {
		c, o := w.band(int64(bands[b-1]*gap), int64(bands[b]*gap), sums, owners)
		cross, own = min(cross, c), min(own, o)
	}
	return cross, own
}

// surplus is by how much a round has the work more often than to be expected.
func (w *Occasional) surplus(i int, owners map[int32]*owner) float64 {
	r := &w.Rounds[i]
	if r.taken() {
		return 1 - owners[r.Owner].part
	}
	return -owners[r.Owner].part
}

// band returns the score for rounds that began between near and far before others, ns, both
// included. It goes through the rounds once: in order of time both ends of the stretch move only
// on. All rounds in the stretch are of the same goroutine or of others, and are scored apart.
func (w *Occasional) band(near, far int64, sums []float64, owners map[int32]*owner) (cross, own float64) {
	for _, x := range owners {
		x.from, x.to = 0, 0
	}
	from, to := 0, 0
	var theirs, theirVariance, mine, myVariance float64
	for j := range w.Rounds {
		at := w.Rounds[j].At
		for from < j && w.Rounds[from].At < at-far {
			from++
		}
		for to < j && w.Rounds[to].At <= at-near {
			to++
		}
		// The stretch in the owner's own rounds, of which the indices are those in all rounds.
		x := owners[w.Rounds[j].Owner]
		for x.from < len(x.rounds) && int(x.rounds[x.from]) < from {
			x.from++
		}
		for x.to < len(x.rounds) && int(x.rounds[x.to]) < to {
			x.to++
		}
		same := x.sums[max(x.from, x.to)] - x.sums[x.from]
		others := sums[max(from, to)] - sums[from] - same
		// What was before is taken for known when the round begins, so that the variance of the
		// product is that of e, p (1 - p), times its square.
		e, v := w.surplus(j, owners), x.part*(1-x.part)
		theirs, theirVariance = theirs+e*others, theirVariance+v*others*others
		mine, myVariance = mine+e*same, myVariance+v*same*same
	}
	if theirVariance > 0 {
		cross = theirs / math.Sqrt(theirVariance)
	}
	if myVariance > 0 {
		own = mine / math.Sqrt(myVariance)
	}
	return cross, own
}

// counted reports whether work is done each n-th time that something else is, by all goroutines
// together: as where a value is good for a number of uses. Beginnings and ends of spans of each
// region, and visits, are tried in order, if they are more than twice as many as the occasions.
func counted(p *model.Program, w *Occasional) bool {
	all := map[cond.Anchor][]int64{}
	var order []cond.Anchor
	for _, o := range p.All() {
		if o.Kind != model.OpOpen && o.Kind != model.OpClose && o.Kind != model.OpVisit {
			continue
		}
		x := cond.WithinAny(p, o)
		if all[x] == nil {
			order = append(order, x)
		}
		all[x] = append(all[x], o.At-p.Rec.Start)
	}
	for _, x := range order {
		times := all[x]
		if cond.MostTaken*float64(len(times)) < float64(len(w.Occasions)) {
			continue
		}
		slices.Sort(times)
		if w.each(times) {
			return true
		}
	}
	return false
}

// each reports whether always the same number of times is between one occasion and the next:
// between their beginnings, their ends, or the end of one and the beginning of the next. Times and
// occasions are in order, since the window's beginning. Goroutines that are at something while the
// count comes to its end are off by some, so that agreed is less than regular.
func (w *Occasional) each(times []int64) bool {
	var begins, ends, pauses []float64
	before := func(at int64) int {
		n, _ := slices.BinarySearch(times, at)
		return n
	}
	for i := 1; i < len(w.Occasions); i++ {
		a, b := &w.Occasions[i-1], &w.Occasions[i]
		begins = append(begins, float64(before(b.At)-before(a.At)))
		ends = append(ends, float64(before(b.Until)-before(a.Until)))
		pauses = append(pauses, float64(before(b.At)-before(a.Until)))
	}
	return constant(begins, agreed) || constant(ends, agreed) || constant(pauses, agreed)
}

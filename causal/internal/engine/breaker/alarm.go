package breaker

import "math"

// An alarm notes, looked at all the time, when events of a kind come more often than they should:
// more than a share p of all. It is an e-detector, Shin, Ramdas and Rinaldo, E-detectors: a
// nonparametric framework for sequential change detection, 2024, of the Shiryaev-Roberts kind: each
// second bets anew on a change that begins with it, and the stakes of all bets are added up. As
// long as the share is right, the sum grows by one a second in the mean, independently of the past,
// so that the chance that it reaches alarmAt within an hour is at most seconds by alarmAt.
type alarm struct {
	stakes     [len(rises)]float64 // at the beginning of the second
	events, of float64             // in this second, in effective numbers
}

// rises are the shares that are betted on, as multiples of the one that is right.
var rises = [...]float64{1.5, 2, 4, 8, 16}

const (
	// alarmAt is the sum at which there is an alarm: one in a hundred hours of 3600 s, for all
	// three alarms of a breaker together.
	alarmAt = 3 * 3600 / 0.01
	// mostInSecond bounds by how much one second can raise a stake, as a logarithm: it takes three
	// at least, so that one bad moment is no alarm. What is cut off only makes an alarm rarer.
	mostInSecond = 4.7
)

// add books events of so many roots, in the second that goes on, of a share that should be p at
// most.
func (a *alarm) add(events, of float64) { a.events, a.of = a.events+events, a.of+of }

// raised reports whether there is an alarm now.
func (a *alarm) raised(p float64) bool {
	sum := 0.
	for i := range a.stakes {
		sum += a.grown(i, p)
	}
	return sum/float64(len(a.stakes)) >= alarmAt
}

// second ends one.
func (a *alarm) second(p float64) {
	for i := range a.stakes {
		a.stakes[i] = a.grown(i, p)
	}
	a.events, a.of = 0, 0
}

// grown is a stake with what the second that goes on has brought so far. A share of 0 or 1 would be
// surely right or surely wrong, and the stake no number any more.
func (a *alarm) grown(i int, p float64) float64 {
	const surely = 1e-6
	p = min(max(p, surely), 1-surely)
	q := min(rises[i]*p, (1+p)/2)
	won := a.events*math.Log(q/p) + (a.of-a.events)*math.Log((1-q)/(1-p))
	return min(1e300, (1+a.stakes[i])*math.Exp(min(won, mostInSecond)))
}

// atMost is the largest share that events of so many are likely to come from: Wilson's bound,
// one-sided, at 99.9 %. Wilson, Probable inference, 1927.
func atMost(events, of float64) float64 {
	const z = 3.09
	if of <= 0 {
		return 1
	}
	p := events / of
	return min(1, (p+z*z/(2*of)+z*math.Sqrt(p*(1-p)/of+z*z/(4*of*of)))/(1+z*z/of))
}

package trace

import (
	"math"
	"slices"
)

// Clocks of two processes differ by an offset, and run at rates that differ a little. What is known
// is that a message comes after it was sent, in both directions:
//
//	client's clock   sent 100 ..................... 190 answered
//	                        \                      /
//	server's clock        1,130 came ..... 1,170 left
//
// So what the server calls 1,130 is 100 or later for the client, and 1,170 is 190 or earlier. Each
// request bounds the line that maps one clock to the other from below, and each answer from above:
// the line lies between two convex hulls (Duda, Harrus, Haddad and Bernard, Estimating global time
// in distributed systems, 1987). All lines that do are as likely. The one in the middle is taken,
// and how far the others are from it is the bound: a mapped time is off by that at most.
//
// Two kinds of messages bound nothing: an answer whose client had gone on, after a timeout or where
// another one came sooner, and what leaves as the trace's next generation begins, whose first
// events the reader puts behind the last of the one before, up to a ms late. Messages that
// contradict many others are left out, if they are few.
//
// With the rate held the offset is between the largest bound from below and the smallest from
// above, so that the search is over rates alone, in which the room between them is concave.

// mostDrift is by which part the rates of two clocks may differ. Quartz is within 100 parts of a
// million, and adjtimex of Linux slews a clock by 500 of them at most. With a larger one few
// messages bound the rate less; with a smaller one a clock that is being slewed cannot be mapped.
const mostDrift = 500e-6

// A Clock maps the times of a process to the clock of another one.
type Clock struct {
	// Origin is a time by the process's clock, to which Offset is added, ns. Later ones have Drift
	// more for each ns: 1e-6 where the clock loses a µs a second.
	Origin, Offset int64
	Drift          float64
	// Bound is by how much a mapped time may be off at most, ns, Messages the number of messages
	// that this comes from, and LeftOut of how many others contradicted these.
	Bound             int64
	Messages, LeftOut int
}

// at maps a time.
func (c *Clock) at(t int64) int64 {
	return t + c.Offset + int64(math.Round(c.Drift*float64(t-c.Origin)))
}

// then maps by c, and what comes out by another clock, which may be the zero one.
func (c *Clock) then(next *Clock) Clock {
	return Clock{
		Origin: c.Origin, Offset: next.at(c.at(c.Origin)) - c.Origin, Drift: c.Drift + next.Drift,
		Bound: c.Bound + next.Bound, Messages: c.Messages, LeftOut: c.LeftOut,
	}
}

// A message left one process and came to another one, each by its own clock, ns.
type message struct{ left, came int64 }

// A gauge is what messages bound: they went to a process, and came from it.
type gauge struct {
	origin, offset int64 // about which all is small enough for a float64
	to, from       []sight
}

// A sight is a bound of the offset: at a time since the origin it is that much, ns.
type sight struct{ since, offset float64 }

// at is the bound of the offset at the origin, with a drift, rounded alike wherever it is compared.
func (s sight) at(drift float64) float64 { return s.offset - float64(drift*s.since) }

// room returns the least and the most that the offset may be, with a drift.
func (g *gauge) room(drift float64) (least, most float64) {
	least, most = math.Inf(-1), math.Inf(1)
	for _, s := range g.to {
		least = max(least, s.at(drift))
	}
	for _, s := range g.from {
		most = min(most, s.at(drift))
	}
	return least, most
}

// align returns the clock of a process, from messages to it and from it; not ok where no clock
// agrees with all of them, or there is none in one direction.
func align(to, from []message) (c Clock, ok bool) {
	if len(to) == 0 || len(from) == 0 {
		return Clock{}, false
	}
	g := gauge{origin: to[0].came, offset: to[0].left - to[0].came}
	for _, m := range to {
		g.to = append(g.to, sight{float64(m.came - g.origin), float64(m.left - m.came - g.offset)})
	}
	for _, m := range from {
		g.from = append(g.from, sight{float64(m.left - g.origin), float64(m.came - m.left - g.offset)})
	}
	wide := func(drift float64) float64 { least, most := g.room(drift); return most - least }
	widest := peak(wide, -mostDrift, mostDrift)
	for range min(mostLeftOut, (len(to)+len(from))/100) { // where a clock was set, half of them contradict the others
		if wide(widest) >= 0 {
			break
		}
		g.leaveOut(widest)
		widest = peak(wide, -mostDrift, mostDrift)
	}
	if len(g.to) == 0 || len(g.from) == 0 || wide(widest) < 0 {
		return Clock{}, false
	}
	slowest, fastest := edge(wide, widest, -mostDrift), edge(wide, widest, mostDrift)
	drift := (slowest + fastest) / 2
	least, most := g.room(drift)
	offset := (least + most) / 2
	// Lines that agree are a convex set, so that they lie furthest from this one at either end.
	bound := 0.0
	for _, since := range g.span() {
		here := offset + drift*since
		upper := func(drift float64) float64 { _, most := g.room(drift); return most + drift*since }
		lower := func(drift float64) float64 { least, _ := g.room(drift); return -(least + drift*since) }
		bound = max(bound, upper(peak(upper, slowest, fastest))-here, lower(peak(lower, slowest, fastest))+here)
	}
	return Clock{
		Origin: g.origin, Offset: g.offset + int64(math.Round(offset)), Drift: drift,
		Bound: int64(math.Ceil(bound)), Messages: len(g.to) + len(g.from), LeftOut: len(to) + len(from) - len(g.to) - len(g.from),
	}, true
}

// mostLeftOut is how many messages are left out at most: each takes a search.
const mostLeftOut = 100

// leaveOut takes the last request or the first answer away, with a drift: the one of the two that
// contradicts more of the others, or both.
func (g *gauge) leaveOut(drift float64) {
	last, first := g.room(drift)
	var answers, requests int // that contradict the other one
	for _, s := range g.from {
		if s.at(drift) < last {
			answers++
		}
	}
	for _, s := range g.to {
		if s.at(drift) > first {
			requests++
		}
	}
	if answers >= requests {
		g.to = slices.DeleteFunc(g.to, func(s sight) bool { return s.at(drift) == last })
	}
	if requests >= answers {
		g.from = slices.DeleteFunc(g.from, func(s sight) bool { return s.at(drift) == first })
	}
}

// span returns when the first and the last message were seen, since the origin.
func (g *gauge) span() [2]float64 {
	order := func(a, b sight) int { return int(math.Copysign(1, a.since-b.since)) }
	return [2]float64{
		min(slices.MinFunc(g.to, order).since, slices.MinFunc(g.from, order).since),
		max(slices.MaxFunc(g.to, order).since, slices.MaxFunc(g.from, order).since),
	}
}

// searches is how often a range of drifts is made smaller by a third: to less than 1e-13, which in
// an hour is less than a ns.
const searches = 60

// peak returns where a concave function is largest in a range.
func peak(f func(float64) float64, from, to float64) float64 {
	for range searches {
		a, b := from+(to-from)/3, to-(to-from)/3
		if f(a) < f(b) {
			from = a
		} else {
			to = b
		}
	}
	return (from + to) / 2
}

// edge returns the last place on the way from one where a concave function is not below 0.
func edge(f func(float64) float64, from, to float64) float64 {
	if f(to) >= 0 {
		return to
	}
	for range searches {
		if middle := (from + to) / 2; f(middle) >= 0 {
			from = middle
		} else {
			to = middle
		}
	}
	return from
}

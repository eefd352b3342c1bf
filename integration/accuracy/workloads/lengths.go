package workloads

import (
	"math/rand/v2"
	"time"
)

// lengths are how long the pieces of work of one goroutine take: about as long as asked, in random
// order. After [program.rewind] the order begins anew, so that two windows have the same one.
type lengths struct {
	*rand.Rand
	p         *Program
	goroutine int
	vary      float64 // of a duration, up or down at most, in [0, 1]
	seen      sequence
}

// Lengths returns those of a goroutine, of which each has its own number.
func (p *Program) Lengths(goroutine int, vary float64) *lengths {
	l := &lengths{p: p, goroutine: goroutine, vary: vary}
	l.begin(p.now())
	return l
}

func (l *lengths) begin(s sequence) {
	l.seen, l.Rand = s, rand.New(rand.NewPCG(uint64(l.goroutine), s.seed))
}

func (l *lengths) Of(d time.Duration) time.Duration {
	if now := l.p.now(); now != l.seen {
		l.begin(now)
	}
	return time.Duration(float64(d) * (1 + l.vary*(2*l.Float64()-1)))
}

// A sequence of random numbers has a seed, and begins anew each time.
type sequence struct{ seed, time uint64 }

// now is the sequence to take random numbers from.
func (p *Program) now() sequence {
	if s := p.sequence.Load(); s != nil {
		return *s
	}
	return sequence{}
}

// Rewind begins the sequence of that seed.
func (p *Program) Rewind(seed uint64) { p.sequence.Store(&sequence{seed, p.now().time + 1}) }

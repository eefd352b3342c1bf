package ledger

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is some goroutines that do all they may, in an order that rapid draws, and the
// invariants of all of them after each step.
type model struct {
	s       *Setting
	begin   int64 // of the setting
	now     int64
	workers []*worker
	stamps  []Stamp
	growth  int64
}

type worker struct {
	l       *Ledger
	open    []*Frame
	waiting bool
	arrived int64
	virtual int64 // time at the last step
}

// rounding is how many nanoseconds all steps of a run may make, each of which rounds parts of one.
const rounding = 200

func (m *model) pick(t *rapid.T, which func(*worker) bool) *worker {
	var able []*worker
	for _, w := range m.workers {
		if which(w) {
			able = append(able, w)
		}
	}
	if len(able) == 0 {
		t.Skip("no goroutine can")
	}
	return rapid.SampledFrom(able).Draw(t, "worker")
}

func running(w *worker) bool { return !w.waiting }

func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": m.check,
		"time": func(t *rapid.T) {
			m.now += rapid.Int64Range(1, 1_000_000).Draw(t, "ns")
		},
		"begin": func(t *rapid.T) {
			w := m.pick(t, func(w *worker) bool { return !w.waiting && len(w.open) < 10 })
			var parent *Frame
			if other := rapid.SampledFrom(m.workers).Draw(t, "parent"); other != w && len(other.open) > 0 {
				parent = other.open[len(other.open)-1]
			}
			id := rapid.Int32Range(-1, 2).Draw(t, "region")
			w.open = append(w.open, w.l.Begin(m.s, m.now, RegionID(id), parent, true))
		},
		"end": func(t *rapid.T) {
			w := m.pick(t, func(w *worker) bool { return len(w.open) > 0 })
			i := rapid.IntRange(0, len(w.open)-1).Draw(t, "span")
			w.open[i].End(m.s, m.now, w.waiting || rapid.Bool().Draw(t, "onlooker")).RecordAt(m.s, 0)
			w.open = slices.Delete(w.open, i, i+1)
		},
		"fork": func(t *rapid.T) {
			if len(m.workers) == 8 {
				t.Skip("enough")
			}
			w := m.pick(t, running)
			m.workers = append(m.workers, &worker{l: w.l.Fork(m.s, m.now)})
		},
		"stamp": func(t *rapid.T) {
			w := m.pick(t, running)
			st := rapid.SampledFrom([]*Stamp{&m.stamps[0], &m.stamps[1], &m.stamps[2]}).Draw(t, "stamp")
			if rapid.Bool().Draw(t, "merge") {
				var own Stamp
				w.l.Stamp(m.s, m.now, &own)
				st.Merge(&own)
			} else {
				w.l.Stamp(m.s, m.now, st)
			}
		},
		"acquire": func(t *rapid.T) {
			w := m.pick(t, running)
			w.l.Acquire(m.s, m.now, m.now, &m.stamps[rapid.IntRange(0, 2).Draw(t, "stamp")])
		},
		"arrive": func(t *rapid.T) {
			w := m.pick(t, running)
			w.l.Arrive(m.s, m.now)
			w.waiting, w.arrived = true, m.now
		},
		"wake": func(t *rapid.T) {
			w := m.pick(t, func(w *worker) bool { return w.waiting })
			if rapid.Bool().Draw(t, "told") {
				w.l.Acquire(m.s, w.arrived, m.now, &m.stamps[rapid.IntRange(0, 2).Draw(t, "stamp")])
			} else {
				w.l.Resume(m.s, w.arrived, m.now)
			}
			w.waiting = false
		},
		"pay": func(t *rapid.T) {
			w := m.pick(t, running)
			w.l.Pay(m.s, func() int64 { return m.now }, func(ns int64) int64 {
				// Others do nothing meanwhile, but time passes.
				took := ns + rapid.Int64Range(-ns/2, ns).Draw(t, "late")
				m.now += took
				return took
			})
			if debt := w.l.Debt(m.s, m.now); debt > 0 && w.l.depth > 0 {
				t.Fatalf("Debt = %d in the region", debt)
			}
		},
	}
}

func (m *model) check(t *rapid.T) {
	elapsed := m.now - m.begin
	for i, w := range m.workers {
		if w.waiting || w.l.last != m.now {
			continue // what it does is known when it gives a sign of life
		}
		credit := w.l.Saved(m.s, m.now)
		v := m.now - credit
		if v < w.virtual-rounding {
			t.Fatalf("worker %d: virtual time %d after %d", i, v, w.virtual)
		}
		w.virtual = v
		if credit < 0 || credit > 0 && m.s.growth == nil {
			t.Fatalf("worker %d: credit %d", i, credit)
		}
	}
	if g := m.s.Growth(); g != nil {
		growth := g.At(m.now)
		if growth < m.growth-1 {
			t.Fatalf("growth %d after %d", growth, m.growth)
		}
		if growth > int64(g.speedup*float64(elapsed))+rounding {
			t.Fatalf("growth %d after %d", growth, elapsed)
		}
		m.growth = growth
	}
}

// newModel has a few goroutines from the beginning.
func newModel(s *Setting) *model {
	return &model{s: s, workers: []*worker{{l: New()}, {l: New()}, {l: New()}}, stamps: make([]Stamp, 3)}
}

func TestVirtualTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := NewPaidSetting(Hypothesis{0, rapid.Float64Range(0, 1).Draw(t, "speedup")}, 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Repeat(newModel(s).actions())
	})
}

func TestVirtualTimesWithoutHypothesis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { t.Repeat(newModel(NewSetting(1)).actions()) })
}

func TestMergeProperties(t *testing.T) {
	settings := []*Setting{nil, half(t), half(t)}
	stamp := rapid.Custom(func(t *rapid.T) Stamp {
		var st Stamp
		if s := rapid.SampledFrom(settings).Draw(t, "setting"); s != nil {
			st.serial, st.t = s.serial, rapid.Int64Range(0, 100).Draw(t, "t")
			st.v = rapid.Int64Range(-100, 100).Draw(t, "v")
		}
		return st
	})
	merge := func(a, b Stamp) Stamp {
		a.Merge(&b)
		return a
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := stamp.Draw(t, "a"), stamp.Draw(t, "b"), stamp.Draw(t, "c")
		if merge(a, b) != merge(b, a) {
			t.Fatal("not commutative")
		}
		if merge(a, merge(b, c)) != merge(merge(a, b), c) {
			t.Fatal("not associative")
		}
		if merge(a, a) != a {
			t.Fatal("not idempotent")
		}
	})
}

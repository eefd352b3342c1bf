package main

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

// A cost is what one span costs on one side in one round. Busy is the part of the
// processors' time that the process got.
type cost struct{ ns, allocs, bytes, busy float64 }

// A result sums up a figure's rounds; see the package comment for its fields.
type result struct {
	peerName   string
	ours, peer cost
	delta      cost
	x          float64
	xLo, xHi   float64
	// dropped and kept are in [0, 1], of the sessions, if there are any.
	sessions      bool
	dropped, kept float64
}

// measure runs both sides of f in turn, rounds times, each for about arm.
func measure(f figure, rounds int, arm time.Duration) (result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(f.procs))
	ours, peer := f.ours(), f.peer()
	r, err := compare(f, ours, peer, rounds, arm)
	r.peerName = peer.name
	for _, s := range []*side{ours, peer} {
		if s.close != nil {
			err = errors.Join(err, s.close())
		}
	}
	return r, err
}

func compare(f figure, ours, peer *side, rounds int, length time.Duration) (result, error) {
	n, err := calibrate(f, ours, length)
	if err != nil {
		return result{}, err
	}
	if _, err := runArm(f, peer, n); err != nil { // the peer warms up as long
		return result{}, err
	}
	var dropped, unwanted uint64
	if ours.lost != nil {
		dropped, unwanted = ours.lost()
	}
	var o, p, d []cost
	var x []float64
	arm := func(s *side) (cost, error) { return runArm(f, s, n) }
	if err := inTurn(rounds, ours, peer, arm, func(a, b cost) {
		o, p = append(o, a), append(p, b)
		d = append(d, cost{ns: a.ns - b.ns, allocs: a.allocs - b.allocs, bytes: a.bytes - b.bytes})
		x = append(x, b.ns/a.ns)
	}); err != nil {
		return result{}, err
	}
	r := result{
		ours:  medians(o),
		peer:  medians(p),
		delta: medians(d),
		x:     quantile(x, 0.5),
		xLo:   quantile(x, 0.25),
		xHi:   quantile(x, 0.75),
	}
	if ours.lost != nil {
		d, u := ours.lost()
		sessions := float64(rounds * n / f.perTrace)
		r.sessions = true
		r.dropped = float64(d-dropped) / sessions
		r.kept = 1 - r.dropped - float64(u-unwanted)/sessions
	}
	return r, nil
}

// inTurn runs both sides rounds times, ours first in every other round, and has note take what came
// of each round.
func inTurn[S, T any](rounds int, ours, peer S, run func(S) (T, error), note func(ours, peer T)) error {
	sides := [2]S{ours, peer}
	for round := range rounds {
		var came [2]T
		for turn := range sides {
			var err error
			i := (turn + round) % 2
			if came[i], err = run(sides[i]); err != nil {
				return err
			}
		}
		note(came[0], came[1])
	}
	return nil
}

// calibrate returns how many spans take about arm on side s, a multiple of what both
// goroutines and traces need. It is also the side's warm-up.
func calibrate(f figure, s *side, arm time.Duration) (int, error) {
	step := batch * f.goroutines
	for n := step; ; n *= 2 {
		c, err := runArm(f, s, n)
		if err != nil {
			return 0, err
		}
		if took := time.Duration(c.ns * float64(n)); took >= arm/4 {
			return max(1, int(float64(arm)/c.ns)/step) * step, nil
		}
	}
}

// runArm runs n spans on side s and returns what each cost.
func runArm(f figure, s *side, n int) (cost, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, err := readClocks()
	if err != nil {
		return cost{}, err
	}
	if f.records {
		recordParallel(s.record, n, f.goroutines)
	} else {
		runParallel(s.tracer, n, f.perTrace, f.goroutines)
	}
	caller, err := readClocks()
	if err != nil {
		return cost{}, err
	}
	if s.settle != nil {
		if err := s.settle(); err != nil {
			return cost{}, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	settled, err := readClocks()
	if err != nil {
		return cost{}, err
	}
	runtime.ReadMemStats(&after)

	wall, cpu := settled.wall.Sub(began.wall), (settled.cpu-began.cpu)/time.Duration(f.procs)
	took := cpu
	if f.callerOnly {
		took = caller.wall.Sub(began.wall)
	}
	per := float64(n)
	return cost{
		ns:     float64(took.Nanoseconds()) / per,
		allocs: float64(after.Mallocs-before.Mallocs) / per,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / per,
		busy:   float64(cpu) / float64(wall),
	}, nil
}

// clocks are read at one moment.
type clocks struct {
	wall time.Time
	cpu  time.Duration
}

func readClocks() (clocks, error) {
	user, system, err := perf.ProcessCPU()
	return clocks{time.Now(), user + system}, err
}

// medians returns the median of each field by itself.
func medians(c []cost) cost {
	field := func(of func(cost) float64) float64 {
		v := make([]float64, len(c))
		for i := range c {
			v[i] = of(c[i])
		}
		return quantile(v, 0.5)
	}
	return cost{
		ns:     field(func(c cost) float64 { return c.ns }),
		allocs: field(func(c cost) float64 { return c.allocs }),
		bytes:  field(func(c cost) float64 { return c.bytes }),
		busy:   field(func(c cost) float64 { return c.busy }),
	}
}

// quantile returns the q-quantile of v, for q in [0, 1], interpolated between neighbors.
// It sorts v. The quantile of nothing is NaN.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

package replay

import (
	"slices"

	"github.com/otelprof/otelprof/internal/glob"
)

// FunctionScope is the scope of regions that are functions.
const FunctionScope = "function"

// A function is a region that no span shows: call stacks do.
type function struct {
	region  int32
	pattern string
}

// A sampled is where a goroutine was while it computed: one sample of a CPU profile.
type sampled struct {
	g    int32
	set  uint16 // of regions that were open
	site int32
}

// A share is which part of the time of some ops a function takes.
type share struct {
	region int32
	part   float64
}

// Function makes a region of what functions do whose names match a pattern, calls included, in which * stands for any
// characters: [FunctionScope] is its scope, and the pattern its name. What they compute is known from the samples of a CPU
// profile, if one was on during the recording; what they wait for outside, such as a timer or the network, from the stacks of
// waits. It returns how many samples and how many waits are theirs.
func (r *Recording) Function(pattern string) (samples, waits int) {
	r.functions = append(slices.Clip(r.functions), function{int32(len(r.regions)), pattern})
	r.regions = append(slices.Clip(r.regions), Region{FunctionScope, pattern})
	for i := range r.events {
		switch e := &r.events[i]; e.kind {
		case evSample:
			if r.sites[e.site].calls(pattern) {
				samples++
			}
		case evWait:
			if r.sites[e.site].calls(pattern) {
				waits++
			}
		}
	}
	return samples, waits
}

// calls reports whether a function whose name matches is on the stack.
func (s Site) calls(pattern string) bool {
	for _, f := range s.Frames {
		if glob.Match(pattern, f.Func) {
			return true
		}
	}
	return false
}

// leastSamples is how many samples show which part of their time ops of one kind spend in a function. Where there are fewer,
// the samples of more ops are taken together.
const leastSamples = 20

// A kindOf ops: samples are too sparse to know each, at 100 in a second of computing. Those are taken together that have the same
// regions open on goroutines of the same creation.
type kindOf struct {
	set  uint16
	site int32
}

// everything is the kind of all ops.
var everything = kindOf{set: 0, site: -2}

// attribute gives ops the shares that functions have in them, as sets of their own.
func (p *program) attribute() {
	if len(p.rec.functions) == 0 {
		return
	}
	matches := make([][]bool, len(p.rec.functions)) // by function, of sites
	for i, f := range p.rec.functions {
		matches[i] = make([]bool, len(p.rec.sites))
		for s, site := range p.rec.sites {
			matches[i][s] = site.calls(f.pattern)
		}
	}
	parts := p.parts(matches)
	known := map[string]uint16{}
	for i := range p.lists {
		for k := range p.lists[i].ops {
			o := &p.lists[i].ops[k]
			var shares []share
			key := []byte{byte(o.set), byte(o.set >> 8)}
			for n, f := range p.rec.functions {
				part := 0.0
				switch o.kind {
				case opRun:
					part = parts[n](kindOf{o.set, p.lists[i].site})
				case opOut:
					if matches[n][o.site] {
						part = 1
					}
				}
				if part > 0 {
					shares = append(shares, share{f.region, part})
					key = append(key, byte(n), byte(1000*part), byte(int(1000*part)>>8))
				}
			}
			if len(shares) > 0 {
				o.set = p.setWith(known, string(key), o.set, shares)
			}
		}
	}
}

// parts returns, for each function, which part of the samples of a kind of ops it is on the stack in.
func (p *program) parts(matches [][]bool) []func(kindOf) float64 {
	all := map[kindOf]int{}
	for _, s := range p.samples {
		all[kindOf{s.set, p.lists[s.g].site}]++
		all[kindOf{s.set, -1}]++
		all[everything]++
	}
	parts := make([]func(kindOf) float64, len(matches))
	for i, match := range matches {
		its := map[kindOf]int{}
		for _, s := range p.samples {
			if match[s.site] {
				its[kindOf{s.set, p.lists[s.g].site}]++
				its[kindOf{s.set, -1}]++
				its[everything]++
			}
		}
		parts[i] = func(k kindOf) float64 {
			for _, k := range []kindOf{k, {k.set, -1}} {
				if all[k] >= leastSamples {
					return float64(its[k]) / float64(all[k])
				}
			}
			return float64(its[everything]) / float64(max(1, all[everything]))
		}
	}
	return parts
}

// setWith returns a set with the regions of another one, and shares.
func (p *program) setWith(known map[string]uint16, key string, of uint16, shares []share) uint16 {
	i, ok := known[key]
	if !ok {
		if len(p.sets) == 1<<16-1 {
			return of
		}
		i = uint16(len(p.sets))
		p.sets = append(p.sets, p.sets[of])
		for len(p.shares) < len(p.sets) {
			p.shares = append(p.shares, nil)
		}
		p.shares[i] = shares
		known[key] = i
	}
	return i
}

// sharesOf returns the shares that functions have in a set.
func (p *program) sharesOf(set int) []share {
	if set < len(p.shares) {
		return p.shares[set]
	}
	return nil
}

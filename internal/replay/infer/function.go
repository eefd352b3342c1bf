package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Function makes a region of what functions do whose names match a pattern, calls included, in
// which * stands for any characters: [FunctionScope] is its scope, and the pattern its name. What
// they compute is known from the samples of a CPU profile, if one was on during the recording; what
// they wait for outside, such as a timer or the network, from the stacks of waits. It returns how
// many samples and how many waits are theirs.
func Function(r *trace.Recording, pattern string) (samples, waits int) {
	r.Functions = append(slices.Clip(r.Functions), trace.Function{Region: int32(len(r.Regions)), Pattern: pattern})
	r.Regions = append(slices.Clip(r.Regions), trace.Region{Scope: trace.FunctionScope, Name: pattern})
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case trace.EvSample:
			if r.Sites[e.Site].Calls(pattern) {
				samples++
			}
		case trace.EvWait:
			if r.Sites[e.Site].Calls(pattern) {
				waits++
			}
		}
	}
	return samples, waits
}

// leastSamples is how many samples show which part of their time ops of one kind spend in a
// function. Where there are fewer, the samples of more ops are taken together.
const leastSamples = 20

// A kindOf ops: samples are too sparse to know each, at 100 in a second of computing. Those are
// taken together that have the same regions open on goroutines of the same creation.
type kindOf struct {
	set  uint16
	site int32
}

// everything is the kind of all ops.
var everything = kindOf{set: 0, site: -2}

// attribute gives ops the shares that functions have in them, as sets of their own.
func attribute(p *model.Program) {
	if len(p.Rec.Functions) == 0 {
		return
	}
	matches := make([][]bool, len(p.Rec.Functions)) // by function, of sites
	for i, f := range p.Rec.Functions {
		matches[i] = make([]bool, len(p.Rec.Sites))
		for s, site := range p.Rec.Sites {
			matches[i][s] = site.Calls(f.Pattern)
		}
	}
	parts := parts(p, matches)
	known := map[string]uint16{}
	for i := range p.Lists {
		for k := range p.Lists[i].Ops {
			o := &p.Lists[i].Ops[k]
			var shares []model.Share
			key := []byte{byte(o.Set), byte(o.Set >> 8)}
			for n, f := range p.Rec.Functions {
				part := 0.0
				switch o.Kind {
				case model.OpRun:
					part = parts[n](kindOf{o.Set, p.Lists[i].Site})
				case model.OpOut:
					if matches[n][o.Site] {
						part = 1
					}
				}
				if part > 0 {
					shares = append(shares, model.Share{Region: f.Region, Part: part})
					key = append(key, byte(n), byte(1000*part), byte(int(1000*part)>>8))
				}
			}
			if len(shares) > 0 {
				o.Set = setWith(p, known, string(key), o.Set, shares)
			}
		}
	}
}

// parts returns, for each function, which part of the samples of a kind of ops it is on the stack
// in.
func parts(p *model.Program, matches [][]bool) []func(kindOf) float64 {
	all := map[kindOf]int{}
	for _, s := range p.Samples {
		all[kindOf{s.Set, p.Lists[s.G].Site}]++
		all[kindOf{s.Set, -1}]++
		all[everything]++
	}
	parts := make([]func(kindOf) float64, len(matches))
	for i, match := range matches {
		its := map[kindOf]int{}
		for _, s := range p.Samples {
			if match[s.Site] {
				its[kindOf{s.Set, p.Lists[s.G].Site}]++
				its[kindOf{s.Set, -1}]++
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
func setWith(p *model.Program, known map[string]uint16, key string, of uint16, shares []model.Share) uint16 {
	i, ok := known[key]
	if !ok {
		if len(p.Sets) == 1<<16-1 {
			return of
		}
		i = uint16(len(p.Sets))
		p.Sets = append(p.Sets, p.Sets[of])
		for len(p.Shares) < len(p.Sets) {
			p.Shares = append(p.Shares, nil)
		}
		p.Shares[i] = shares
		known[key] = i
	}
	return i
}

package infer

import (
	"encoding/binary"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Function makes a region of what functions do whose names match a pattern, calls included, in
// which * stands for any characters: [trace.FunctionScope] is its scope, and the pattern its name.
// What they compute is known from the samples of a CPU profile, if one was on during the recording;
// what they wait for outside, such as a timer or the network, from the stacks of waits. It returns
// how many samples and how many waits are theirs; with none of either the region has no time, and
// nothing can be said of it. The recording changes, but not the slices that its copies share. It
// must not be translated before.
func Function(r *trace.Recording, pattern string) (samples, waits int) {
	r.Functions = append(slices.Clip(r.Functions), trace.Function{Region: int32(len(r.Regions)), Pattern: pattern})
	r.Regions = append(slices.Clip(r.Regions), trace.Region{Scope: trace.FunctionScope, Name: pattern})
	calls := trace.BySite(r.Sites, func(s trace.Site) bool { return s.Calls(pattern) })
	for i := range r.Events {
		switch e := &r.Events[i]; {
		case !calls[e.Site]:
		case e.Kind == trace.EvSample:
			samples++
		case e.Kind == trace.EvWait:
			waits++
		}
	}
	return samples, waits
}

// leastSamples is how many samples show which part of their time ops of one kind spend in a
// function. With 20 the standard error of a half is 11 points; it enters as an error of the ops'
// times, and a function is of many kinds of ops. Where there are fewer, the samples of more ops are
// taken together.
const leastSamples = 20

// A kindOf ops: samples are too sparse to know each, at 100 in a second of computing
// (StartCPUProfile in runtime/pprof). Taken together are ops that have the same regions open on
// goroutines of the same creation.
type kindOf struct {
	set  uint16 // number in Program.Sets
	site int32  // where the goroutine was created, -1 for anywhere, -2 of everything
}

// everything is the kind of all ops.
var everything = kindOf{set: 0, site: -2}

// attribute gives ops the shares that functions have in them, as sets of their own. A share is
// which part of an op's time a function takes, in (0, 1]; the simulation takes a share of the
// saving from the whole op. It takes as many steps as there are ops and functions. Ops that get a
// set here are no longer without regions, so that errands leave them alone.
func attribute(p *model.Program) {
	if len(p.Rec.Functions) == 0 {
		return
	}
	// A pattern is held against each stack once, and not against each op.
	matches := make([][]bool, len(p.Rec.Functions)) // by function, of sites
	for i, f := range p.Rec.Functions {
		matches[i] = trace.BySite(p.Rec.Sites, func(s trace.Site) bool { return s.Calls(f.Pattern) })
	}
	parts := parts(p, matches)
	known := map[string]uint16{}
	for at, o := range p.All() {
		var shares []model.Share
		key := binary.LittleEndian.AppendUint16(nil, o.Set)
		for n, f := range p.Rec.Functions {
			part := 0.0
			switch o.Kind {
			case model.OpRun:
				part = parts[n](kindOf{o.Set, p.Lists[at.List].Site})
			// The stack of a wait is known, so that it is of the function as a whole or not at all.
			// A wait for other goroutines is shorter only if they are.
			case model.OpOut:
				if matches[n][o.Site] {
					part = 1
				}
			}
			if part > 0 {
				shares = append(shares, model.Share{Region: f.Region, Part: part})
				key = binary.LittleEndian.AppendUint32(key, uint32(n))
				key = binary.LittleEndian.AppendUint16(key, uint16(1000*part))
			}
		}
		if len(shares) > 0 {
			o.Set = setWith(p, known, string(key), o.Set, shares)
		}
	}
}

// parts returns, for each function, which part of the samples of a kind of ops it is on the stack
// in, in [0, 1]. The kind is widened until there are leastSamples: ops of these regions and this
// creation, of these regions, all ops. Matches are by function and site.
func parts(p *model.Program, matches [][]bool) []func(kindOf) float64 {
	count := func(of func(site int32) bool) map[kindOf]int {
		n := map[kindOf]int{}
		for _, s := range p.Samples {
			if of(s.Site) {
				n[kindOf{s.Set, p.Lists[s.G].Site}]++
				n[kindOf{s.Set, -1}]++
				n[everything]++
			}
		}
		return n
	}
	all := count(func(int32) bool { return true })
	parts := make([]func(kindOf) float64, len(matches))
	for i, match := range matches {
		its := count(func(site int32) bool { return match[site] })
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

// setWith returns a set with the regions of another one, and shares. Known has the sets that were
// made by key, so that ops that are alike have one. Where the numbers of sets are used up, at
// 65,535, it returns the set without the shares: the function then misses a part of its time.
func setWith(p *model.Program, known map[string]uint16, key string, of uint16, shares []model.Share) uint16 {
	i, ok := known[key]
	if !ok {
		if len(p.Sets) == 1<<16-1 {
			return of
		}
		i = uint16(len(p.Sets))
		p.Sets = append(p.Sets, p.Sets[of])
		// Sets from before have no shares. Shares may be shorter than Sets, see SharesOf.
		for len(p.Shares) < len(p.Sets) {
			p.Shares = append(p.Shares, nil)
		}
		p.Shares[i] = shares
		known[key] = i
		p.GrowsAs(i, of)
	}
	return i
}

package plan

import (
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/validate"
	"github.com/otelprof/otelprof/causal/profile"
)

// What a plan keeps and computes in the process, besides the delays that its limits bound, is
// bounded as well: a plan that would take more is refused, with the figure.
const (
	mostBooks     = 64 << 20 // bytes
	mostBooksCore = 0.05     // of one core
)

const (
	// experimentBytes is what one experiment takes with the room for more behind it, pointBytes
	// what it keeps of each progress point besides quantiles.
	experimentBytes = 520
	pointBytes      = 64
	// distributionBytes is what the durations at a progress point take, for one region and
	// speed-up.
	distributionBytes = 16 << 10
	// judging is the processor time that it takes to judge one number after an experiment.
	judging = 200 * time.Microsecond
)

// Books returns how many bytes a plan's experiments take in the end, and the share of one core that
// it takes to judge them.
func (p *Plan) Books(now time.Time) (bytes, core float64) {
	begin := now
	if p.NotBefore.After(now) {
		begin = p.NotBefore
	}
	each := p.each()
	life := p.ExpiresAt.Sub(begin) - time.Duration(p.Timing.Warmup)
	experiments := float64(max(0, life)) / float64(each)

	size, numbers, distributions := experimentBytes, 0, 0
	for _, point := range p.Progress {
		metrics, _ := point.Metrics()
		numbers += len(metrics)
		size += pointBytes
		if point.Type == TypeLatency {
			size += len(metrics) * 8
			distributions++
		}
	}
	cells := min(p.mostSelected()*(len(p.Grid.Speedups)+design.MaxRefinements), int(experiments)) + 1
	bytes = experiments*float64(size) + float64(cells*distributions*distributionBytes)
	if p.Mode != profile.ModeDilation { // dilation goes round without a look at what was measured
		core = float64(numbers) * judging.Seconds() / (1.5 * each.Seconds()) // a third of the experiments are without delay
	}
	return bytes, core
}

// each is how long one experiment takes at least.
func (p *Plan) each() time.Duration {
	if p.ByClock() {
		return time.Duration(p.Timing.Epoch)
	}
	return time.Duration(p.Timing.Experiment + p.Timing.Cooloff)
}

// mostSelected is how many regions a plan may come to examine.
func (p *Plan) mostSelected() (n int) {
	for _, r := range p.Regions {
		switch {
		case r.Auto > 0:
			n += r.Auto
		case strings.ContainsAny(r.Span, "*?"):
			n += design.MaxRegions
		default:
			n++ // the same name in another scope is one more, which is rare
		}
	}
	return min(n, design.MaxRegions)
}

// validateBooks refuses what a plan's experiments would cost in the process.
func (p *Plan) validateBooks(v *validate.Errors, now time.Time) {
	bytes, core := p.Books(now)
	v.That(bytes <= mostBooks, "timing", nil, "experiments of %v each until expires_at %s would take %.0f MiB: must be at most %d MiB: longer ones, an earlier end, or fewer progress points and quantiles take less",
		p.each(), p.ExpiresAt.Format(time.RFC3339), bytes/(1<<20), mostBooks>>20)
	v.That(core <= mostBooksCore, "timing", nil, "to judge experiments of %v each would take %.3g %% of a core: must be at most %g %%: longer ones, or fewer progress points and quantiles, take less",
		p.each(), 100*core, 100*mostBooksCore)
}

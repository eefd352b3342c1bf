package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/otelprof/otelprof/causal/internal/validate"
	"github.com/otelprof/otelprof/internal/naming"
)

// A Change is what would be if the program were built in another way: with more processors, a lock
// in parts, a channel with more room, or several regions faster at once. Only recordings tell.
type Change struct {
	// Change is in words what is otherwise: "4 processors".
	Change   string `json:"change"`
	Progress string `json:"progress"`
	Metric   Metric `json:"metric"`
	// BasePeriod is as in [Curve].
	BasePeriod time.Duration `json:"base_period_ns"`
	// Effect is the answer. Its Speedup is zero.
	Effect Effect `json:"effect"`
}

// orderChanges puts throughput first, and then what would change most.
func (p *Profile) orderChanges() {
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Metric.rank(), b.Metric.rank()), cmp.Compare(b.Effect.Reduction, a.Effect.Reduction),
			cmp.Compare(a.Progress, b.Progress), cmp.Compare(a.Change, b.Change))
	})
}

func (c Change) validate(v *validate.Errors, key string) {
	v.That(c.Change != "" && c.Metric != "", key, nil, "change and metric must not be empty")
	v.That(c.BasePeriod >= 0 && c.BasePeriod <= 24*time.Hour, key+".base_period_ns", int64(c.BasePeriod), "must be in [0, %d]", 24*time.Hour)
	c.Effect.validate(v, key+".effect")
}

func mergeChanges(profiles []Profile) (changes []Change) {
	all := allOf(profiles, func(p Profile) []Change { return p.Changes })
	for _, same := range grouped(all, func(c Change) [3]string { return [...]string{c.Change, c.Progress, string(c.Metric)} }) {
		var effects []Effect
		for _, c := range same {
			effects = append(effects, c.Effect)
		}
		merged := same[0]
		merged.Effect = mergeReplayed(0, effects)
		changes = append(changes, merged)
	}
	return changes
}

// changes writes one line for each change at the progress point that has a number.
func (a answerAt) changes(out *strings.Builder) {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	first := true
	for _, c := range a.p.Changes {
		if c.Progress != a.progress || c.Metric != MetricThroughput || !c.Effect.Known() {
			continue
		}
		if first {
			_, _ = fmt.Fprintf(out, "\nby how many %% the time for each %s shrinks with\n", naming.OneLine(a.progress))
			first = false
		}
		_, _ = fmt.Fprintf(t, "  %s\t%s\n", naming.OneLine(c.Change), c.Effect.withError())
	}
	_ = t.Flush() // a Builder takes everything
}

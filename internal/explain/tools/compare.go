package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	usualSeconds = 5
	mostSeconds  = 20 // a viewer's server has 30 s for its answer
)

// Compare returns how regions do in the next seconds, beside all since the start.
func Compare(ctx context.Context, api API, seconds int) (string, error) {
	seconds = cmp.Or(seconds, usualSeconds)
	if seconds < 1 || seconds > mostSeconds {
		return "", fmt.Errorf("seconds %d: must be in [1, %d]", seconds, mostSeconds)
	}
	before, since, err := api.regions(ctx)
	if err != nil {
		return "", err
	}
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	after, now, err := api.regions(ctx)
	if err != nil {
		return "", err
	}
	if now != since {
		return "", fmt.Errorf("the process began to count anew at %s: ask again", now)
	}
	type key struct{ scope, version, schema, name string }
	keyOf := func(r region) key { return key{r.Scope, r.Version, r.SchemaURL, r.Name} }
	old := map[key]region{}
	for _, r := range before {
		old[keyOf(r)] = r
	}
	type change struct {
		region
		count, errors, mean, since float64
	}
	var changes []change
	for _, r := range after {
		was := old[keyOf(r)]
		if r.Count <= was.Count { // nothing has ended
			continue
		}
		n := float64(r.Count - was.Count)
		changes = append(changes, change{region: r, count: n, errors: float64(r.Errors) - float64(was.Errors), mean: (r.Total - was.Total) / n, since: r.Total / float64(r.Count)})
	}
	if len(changes) == 0 {
		return fmt.Sprintf("no span ended within %d s: nothing to compare", seconds), nil
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(b.count*b.mean, a.count*a.mean) })
	var out page
	out.line("the next %d s beside all since the start; means, so that one slow call counts", seconds)
	rows := make([][]string, len(changes))
	for i, c := range changes {
		rows[i] = []string{c.Name, number(c.count / float64(seconds)), duration(c.mean), duration(c.since), fmt.Sprintf("%+.1f %%", 100*(c.mean/max(c.since, 1)-1)), fmt.Sprintf("%.0f", c.errors)}
	}
	out.table("regions", []string{"region", "a second", "mean now", "mean since the start", "change", "errors"}, rows)
	return out.String(), nil
}

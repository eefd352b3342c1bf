package tools

import (
	"context"
	"fmt"

	"github.com/otelprof/otelprof/causal/profile"
)

// Verify returns what was foretold of versions before, and what came.
func Verify(ctx context.Context, api API) (string, error) {
	var answer struct {
		Outcomes []profile.Outcome `json:"outcomes"`
		Held     int               `json:"held"`
		Of       int               `json:"of"`
	}
	if err := api.get(ctx, "causal/outcomes", &answer); err != nil {
		return "", err
	}
	if len(answer.Outcomes) == 0 {
		return "nothing to compare: a service with a service.version, or built of a revision, and OTELPROF_DATA_DIR keeps what is foretold of it; the next version in the same folder shows what came, once a region is 5 % faster\n", nil
	}
	var out page
	out.line("%d of %d that can be judged held", answer.Held, answer.Of)
	rows := make([][]string, len(answer.Outcomes))
	for i, o := range answer.Outcomes {
		rows[i] = []string{o.From + " to " + o.To, o.Region.Name, percent(o.Faster), o.Progress, string(o.Metric), fmt.Sprintf("%.1f (%.1f .. %.1f)", 100*o.Foretold, 100*o.Lo, 100*o.Hi), fmt.Sprintf("%.1f", 100*o.Came), o.Verdict}
	}
	out.table("outcomes", []string{"version", "region", "faster by", "of", "metric", "foretold, % less", "came", "verdict"}, rows)
	return out.String(), nil
}

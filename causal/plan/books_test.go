package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/plantest"
)

// Plans that would take more than their books may are refused, with the figure; those that people
// write are not.
func TestPlanBooks(t *testing.T) {
	quantiles := "quantiles: [1, 10, 25, 50, 75, 90, 99, 99.9]"
	var points []string
	for i := range 16 {
		points = append(points, fmt.Sprintf("{span: p%d, type: latency, %s}", i, quantiles))
	}
	var regions []string
	for i := range 60 {
		regions = append(regions, fmt.Sprintf("{scope: s, span: r%d}", i))
	}
	many := "progress: [" + strings.Join(points, ", ") + "]"
	hour := "expires_at: " + time.Now().Add(MaxLife-time.Minute).UTC().Format(time.RFC3339)
	speedups := "grid: {speedups: [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80]}"
	for _, tc := range []struct {
		lines []string
		want  string // in the error, "" if there is none
	}{
		{[]string{"mode: overlap"}, ""},
		{[]string{"mode: overlap", hour, "timing: {experiment: 100ms, cooloff: 0s}"}, ""},
		{[]string{"mode: overlap", hour, "timing: {experiment: 10ms, cooloff: 0s}"}, "MiB: must be at most 64 MiB"},
		{[]string{"mode: overlap", hour, many, speedups, "timing: {experiment: 100ms, cooloff: 0s}"}, "% of a core: must be at most 5 %"},
		{[]string{"mode: overlap", hour, many, speedups}, "MiB: must be at most 64 MiB"},
		{[]string{"mode: overlap", hour, many, `regions: [{span: one}]`}, ""},
		{[]string{"mode: slowdown", hour, many, "regions: [" + strings.Join(regions, ", ") + "]", "timing: {epoch: 2s}"}, "experiments of 2s each until"},
		{[]string{"mode: dilation", "timing: {experiment: 20ms, cooloff: 0s}"}, ""},
	} {
		_, err := Parse(plantest.Document(tc.lines...))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("plan %q: error %v, want %q", tc.lines, err, tc.want)
		}
	}
}

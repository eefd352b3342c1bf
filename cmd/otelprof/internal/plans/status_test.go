package plans

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
)

// A source that does not answer is named with its error; one that does is not worth a line.
func TestStatusOfSilentSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		status := viewerStatus{Status: causal.Status{State: causal.StateIdle, Enabled: true, Sources: []causal.SourceStatus{
			{Name: "file /etc/plan.yaml", Answered: time.Now()},
			{Name: "https://plans/v1/plan", Missed: 7, Since: time.Now().Add(-time.Minute), Error: "answer 503 Service Unavailable: must be 200, 204, 304 or 404"},
		}}}
		status.write(&out)
		want := "idle\nhttps://plans/v1/plan: no answer for 1m0s, 7 in a row: answer 503 Service Unavailable: must be 200, 204, 304 or 404\n"
		if out.String() != want {
			t.Errorf("status = %q, want %q", out.String(), want)
		}
		status.Status.Enabled = false
		status.write(&out)
		if !strings.HasSuffix(out.String(), "\nthe program has not opted in to experiments: start it with OTELPROF_EXPERIMENTS=on\n") {
			t.Errorf("status of a program without experiments = %q, want how it opts in", out.String())
		}
	})
}

// A fleet whose plan was withdrawn says which instance has aborted it, and why.
func TestStatusOfWithdrawnPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		fleet := fleetStatus{Withdrawn: &planserver.Withdrawal{
			PlanInfo: planserver.PlanInfo{ID: "checkout-2", Generation: 2}, Service: "shop", InstanceID: "b", State: "aborted: p99 3x", At: time.Now().Add(-time.Minute),
		}}
		fleet.write(&out)
		if got, rest, _ := strings.Cut(out.String(), "\n"); got != "no plan: checkout-2, generation 2, was withdrawn 1m0s ago, since shop b has aborted: p99 3x" {
			t.Errorf("status = %q, then %q", got, rest)
		}
	})
}

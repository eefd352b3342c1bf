package otelprof

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
	"github.com/otelprof/otelprof/spans/stacks"
)

// The order of Setup's options never matters, also where one switches off what another one needs.
func TestOptionsInAnyOrder(t *testing.T) {
	options := []Option{
		WithServiceName("shop"),
		WithResource(resource.Empty()),
		WithViewer("127.0.0.1:0"),
		WithDataDir(t.TempDir()),
		WithExperiments(plan.DefaultLimits()),
		WithBreaker(plan.DefaultBreaker()),
		WithAllowed(plan.DefaultAllowed()),
		WithoutReplay(),
		WithCounters(pmuattrs.WithSampling(7)),
		WithStacks(stacks.WithRate(50)),
		WithSchedule(schedule.WithMaxBytes(1 << 20)),
		WithProcessContext(),
		WithTimes(schedtimes.WithRegions("a")),
		WithoutTimes(),
		WithLogger(slog.New(slog.DiscardHandler)),
		WithStore(spans.NewRing(1 << 20)),
		WithoutGlobals(),
		WithPlanFile("plan.yaml"),
		WithPlanURL("https://plans.example/"),
		WithOpAMP("wss://opamp.example/"),
		WithPlanKeys(make(ed25519.PublicKey, ed25519.PublicKeySize)),
	}
	for _, env := range []string{"", "off", "on"} {
		for _, name := range []string{envExperiments, envReplay, envCounters, envStacks, envSchedule, envMarks, envTimes, envProcessContext} {
			t.Setenv(name, env)
		}
		testutil.CheckOrder(t, options, func(all []Option) string {
			c, err := newConfig(all)
			c.logger = nil // it is wrapped anew
			return fmt.Sprintf("%+v %v", c, err)
		})
	}
}

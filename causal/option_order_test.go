package causal

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
)

// The order of options never matters.
func TestOptionsInAnyOrder(t *testing.T) {
	options := []Option{
		WithExperiments(plan.DefaultLimits()),
		WithBreaker(plan.Abort{P99Ratio: 1.5, ErrDelta: 0.01, Window: plan.Duration(time.Second), MinSamples: 7}),
		WithAllowed(plan.Allowed{Modes: []profile.Mode{profile.ModeDilation}, Speedup: 25, Life: plan.Duration(time.Minute)}),
		WithReplay(),
		WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))),
		WithLogger(slog.New(slog.DiscardHandler)),
		WithAudit(func(AuditEvent) {}),
		WithHealthChecks("ping"),
	}
	for _, env := range []string{"", "on", "off"} {
		t.Setenv(naming.EnvExperiments, env)
		t.Setenv(naming.EnvReplay, env)
		testutil.CheckOrder(t, options, func(all []Option) string {
			c, err := newConfig(all)
			c.audit.wait(0)
			return fmt.Sprint(c.enabled, c.Caps, c.Breaker, c.Allowed, c.replay, c.recordable, c.service, c.env, c.id, c.log, len(c.tell), c.Exempt, err)
		})
	}
}

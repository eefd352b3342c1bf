package causal

import (
	"fmt"
	"log/slog"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/internal/testutil"
)

// The order of options never matters.
func TestOptionsInAnyOrder(t *testing.T) {
	options := []Option{
		WithExperiments(plan.DefaultLimits()),
		WithReplay(),
		WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))),
		WithLogger(slog.New(slog.DiscardHandler)),
		WithAudit(func(AuditEvent) {}),
		WithHealthChecks("ping"),
	}
	for _, env := range []string{"", "on", "off"} {
		t.Setenv(EnvExperiments, env)
		t.Setenv(EnvReplay, env)
		testutil.CheckOrder(t, options, func(all []Option) string {
			c, err := newConfig(all)
			c.audit.wait(0)
			return fmt.Sprint(c.enabled, c.caps, c.replay, c.recordable, c.service, c.env, c.id, c.log, len(c.tell), c.exempt, err)
		})
	}
}

package otelprof

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/log/global"
	"go.opentelemetry.io/otel/propagation"

	"github.com/otelprof/otelprof/internal/testutil"
)

// TestSetupPropagators: OTEL_PROPAGATORS chooses among the formats of OpenTelemetry's module. A
// list with others is a warning. It leaves the global propagator as it is if the application has
// set one; if not, traces go on by the formats that are known.
func TestSetupPropagators(t *testing.T) {
	before := propagation.Baggage{}
	unset := propagation.NewCompositeTextMapPropagator()
	tracecontext, baggage := propagation.TraceContext{}.Fields(), propagation.Baggage{}.Fields()
	for _, one := range []struct {
		list   string
		before propagation.TextMapPropagator
		fields []string
		warns  bool
	}{
		{"", before, slices.Concat(tracecontext, baggage), false},
		{" TraceContext , tracecontext", before, tracecontext, false},
		{"baggage", before, baggage, false},
		{"none", before, nil, false},
		{"tracecontext,b3", before, before.Fields(), true},
		{"xray", before, before.Fields(), true},
		{"b3,tracecontext", unset, tracecontext, true},
		{"xray,b3", unset, slices.Concat(tracecontext, baggage), true},
		{"none,b3", unset, nil, true},
	} {
		t.Run(one.list, func(t *testing.T) {
			tp, mp, lp, prop := otel.GetTracerProvider(), otel.GetMeterProvider(), global.GetLoggerProvider(), otel.GetTextMapPropagator()
			t.Cleanup(func() {
				otel.SetTracerProvider(tp)
				otel.SetMeterProvider(mp)
				global.SetLoggerProvider(lp)
				otel.SetTextMapPropagator(prop)
			})
			otel.SetTextMapPropagator(one.before)
			t.Setenv(envPropagators, one.list)
			var said testutil.Log
			p, err := Setup(t.Context(), WithLogger(said.Logger()))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Shutdown(t.Context())
			got := otel.GetTextMapPropagator().Fields()
			slices.Sort(got)
			slices.Sort(one.fields)
			if diff := cmp.Diff(one.fields, got); diff != "" && len(one.fields)+len(got) > 0 {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if warns := strings.Contains(said.String(), envPropagators); warns != one.warns {
				t.Errorf("said %q, want a warning: %v", said.String(), one.warns)
			}
		})
	}
}

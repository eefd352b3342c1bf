package otelprof

import (
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
)

const envPropagators = "OTEL_PROPAGATORS"

// propagatorFromEnv returns the propagator that OTEL_PROPAGATORS lists: tracecontext and baggage if
// it is not set. Where the list has formats of other modules, such as b3, it is nil if the
// application has set a propagator, which stays and may know them. If not, the others of the list
// are taken, or where there are none tracecontext and baggage, as OpenTelemetry's own autoprop
// does.
func propagatorFromEnv() (propagation.TextMapPropagator, error) {
	list := os.Getenv(envPropagators)
	byDefault := []propagation.TextMapPropagator{propagation.TraceContext{}, propagation.Baggage{}}
	if strings.TrimSpace(list) == "" {
		return propagation.NewCompositeTextMapPropagator(byDefault...), nil
	}
	var all []propagation.TextMapPropagator
	var unknown []string
	none := false
	seen := map[string]bool{"": true}
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		if name = strings.TrimSpace(name); seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "none":
			none = true
		case "tracecontext":
			all = append(all, propagation.TraceContext{})
		case "baggage":
			all = append(all, propagation.Baggage{})
		default:
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return propagation.NewCompositeTextMapPropagator(all...), nil
	}
	err := fmt.Errorf("%s %q: must be tracecontext, baggage or none, not %q", envPropagators, list, unknown)
	if own := otel.GetTextMapPropagator(); own != nil && len(own.Fields()) > 0 {
		return nil, fmt.Errorf("%w: the program's own propagator stays", err)
	}
	taken := "left out"
	if len(all) == 0 && !none {
		all, taken = byDefault, "tracecontext and baggage are taken"
	}
	return propagation.NewCompositeTextMapPropagator(all...), fmt.Errorf("%w: %s", err, taken)
}

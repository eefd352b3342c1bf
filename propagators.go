package otelprof

import (
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

const envPropagators = "OTEL_PROPAGATORS"

// propagatorFromEnv returns the propagator that OTEL_PROPAGATORS lists: tracecontext and baggage if
// it is not set. It is nil where the list has formats of other modules, such as b3: then the
// application's own stays, or none if it has set none.
func propagatorFromEnv() (propagation.TextMapPropagator, error) {
	list := os.Getenv(envPropagators)
	if strings.TrimSpace(list) == "" {
		list = "tracecontext,baggage"
	}
	all := []propagation.TextMapPropagator{}
	var unknown []string
	seen := map[string]bool{"": true, "none": true}
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		if name = strings.TrimSpace(name); seen[name] {
			continue
		}
		seen[name] = true
		switch name {
		case "tracecontext":
			all = append(all, propagation.TraceContext{})
		case "baggage":
			all = append(all, propagation.Baggage{})
		default:
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("%s %q: must be tracecontext, baggage or none, not %q: the global propagator is left as it is", envPropagators, list, unknown)
	}
	return propagation.NewCompositeTextMapPropagator(all...), nil
}

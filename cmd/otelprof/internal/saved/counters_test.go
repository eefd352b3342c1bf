package saved

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/pmuattrs"
)

// Versions of a scope have an order as well, however often the files are read.
func TestCountersHaveAnOrder(t *testing.T) {
	for range 20 {
		all := counters{}
		for _, version := range []string{"3", "1", "2"} {
			key := counterKey{regionKey{scope: "shop", version: version, name: "price"}, "hw"}
			all[key] = &pmuattrs.RegionCounters{Scope: instrumentation.Scope{Name: "shop", Version: version}, Name: "price", Source: "hw"}
		}
		var got []string
		for _, r := range all.regions(false) {
			got = append(got, r.Scope.Version)
		}
		if want := []string{"1", "2", "3"}; !slices.Equal(got, want) {
			t.Fatalf("versions %q, want %q", got, want)
		}
	}
}

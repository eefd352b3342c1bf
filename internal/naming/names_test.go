package naming

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
)

// TestRegionAttributesOfEachScope: no two scopes have the same, and what a scope lacks is left out.
func TestRegionAttributesOfEachScope(t *testing.T) {
	region := []attribute.KeyValue{RegionNameKey.String("pay"), RegionScopeKey.String("shop")}
	seen := map[attribute.Distinct]instrumentation.Scope{}
	for _, c := range []struct {
		scope instrumentation.Scope
		more  []attribute.KeyValue
	}{
		{instrumentation.Scope{Name: "shop"}, nil},
		{instrumentation.Scope{Name: "shop", Version: "1"}, []attribute.KeyValue{attribute.String("otelprof.region.scope_version", "1")}},
		{instrumentation.Scope{Name: "shop", SchemaURL: "https://s/1"}, []attribute.KeyValue{attribute.String("otelprof.region.scope_schema_url", "https://s/1")}},
		{
			instrumentation.Scope{Name: "shop", Attributes: attribute.NewSet(attribute.Int("b", 2), attribute.String("a", "x,y"))},
			[]attribute.KeyValue{attribute.String("otelprof.region.scope_attributes", `a=x\,y,b=2`)},
		},
	} {
		got, want := RegionAttributes(c.scope, "pay"), attribute.NewSet(append(c.more, region...)...)
		if diff := cmp.Diff(want.Encoded(attribute.DefaultEncoder()), got.Encoded(attribute.DefaultEncoder())); diff != "" {
			t.Errorf("RegionAttributes(%+v) (-want +got):\n%s", c.scope, diff)
		}
		if other, same := seen[got.Equivalent()]; same {
			t.Errorf("%+v has the attributes of %+v", c.scope, other)
		}
		seen[got.Equivalent()] = c.scope
	}
}

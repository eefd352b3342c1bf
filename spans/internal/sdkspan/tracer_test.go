package sdkspan

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// TestSDKThatCountsItsSpansIsAsked switches on the SDK's metrics of itself, which an environment
// variable does.
func TestSDKThatCountsItsSpansIsAsked(t *testing.T) {
	Learn() // with the environment as it is
	t.Setenv("OTEL_GO_X_OBSERVABILITY", "true")
	if FollowsUnsampled(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())).Tracer("")) {
		t.Error("the SDK would miss spans in its own counts")
	}
}

func TestOtherTypesAreNotTheSDKs(t *testing.T) {
	type inst struct{ enabled bool } //nolint:unused // by reflection it is.
	type provider struct{ sampler, idGenerator any }
	for _, tr := range []trace.Tracer{
		nil,
		noop.Tracer{},
		&struct{ trace.Tracer }{},
		&struct {
			trace.Tracer
			inst     inst
			provider *provider
		}{},
		&struct {
			trace.Tracer
			inst     inst
			provider *provider
		}{provider: &provider{}},
		&struct {
			trace.Tracer
			inst     int
			provider *provider
		}{provider: &provider{1, 2}},
	} {
		if _, ok := providerOf(tr); ok || FollowsUnsampled(tr) {
			t.Errorf("%T passes for the SDK's tracer", tr)
		}
	}
}

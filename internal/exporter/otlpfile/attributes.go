package otlpfile

import (
	"math"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

func putResource(dst pcommon.Resource, r *resource.Resource) {
	otlpattr.Put(dst.Attributes(), r.Attributes())
}

func putScope(dst pcommon.InstrumentationScope, s instrumentation.Scope) {
	dst.SetName(otlpattr.UTF8(s.Name))
	dst.SetVersion(otlpattr.UTF8(s.Version))
	otlpattr.Put(dst.Attributes(), s.Attributes.ToSlice())
}

// timestamp is 0, which OTLP takes as unknown, for times before 1970 and for the zero Time.
func timestamp(t time.Time) pcommon.Timestamp {
	if t.IsZero() {
		return 0
	}
	return pcommon.Timestamp(max(0, t.UnixNano()))
}

func count32(n int) uint32 { return uint32(min(uint64(max(n, 0)), math.MaxUint32)) }

package spans

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"
)

// Whatever is due, there are rests between regions: where there are thousands, to look at them
// takes milliseconds.
func TestLooksForWhatHasChangedRest(t *testing.T) {
	all := make([]*regionStats, 10*regionsAtOnce)
	for i := range all {
		all[i] = newRegionStats(instrumentation.Scope{}, "", trace.SpanKindInternal)
	}
	p := &pushed{whole: func() bool { return false }, last: map[*regionStats]push{}}
	for _, want := range []int{len(all), 0} {
		rests := 0
		if due := p.due(all, time.Now(), func() { rests++ }); len(due) != want || rests != 10 {
			t.Errorf("%d regions due with %d rests, want %d with 10", len(due), rests, want)
		}
	}
}

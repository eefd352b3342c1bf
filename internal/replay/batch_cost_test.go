package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestResized: where all batches of the recording are as large as they may be, it does not show how
// long smaller ones take; what may be bounds the truth.
func TestResized(t *testing.T) {
	const end = 1500 * ms
	for name, really := range map[string]committer{
		"any size as long": {fixed: 4 * ms},
		"by size alone":    {each: 2 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			really.writers, really.limit, really.prepare, really.commit = 8, 2, 1, 1
			c := &caller{Recorder: trace.NewRecorder(0, 16)}
			base := really.run(c, end)
			p := infer.NewProgram(c.recording(t, end), true)
			all := cond.Resized(p)
			if len(all) != 2 {
				t.Fatalf("%d programs, want one that grows as little as may be, and one that grows as much", len(all))
			}
			really.commit = 0.25
			want := 1 - float64(base)/float64(really.run(nil, end))
			region := int32(0)
			for i, r := range p.Rec.Regions {
				if r.Name == "commit" {
					region = int32(i)
				}
			}
			var got []float64
			for _, x := range all {
				before, after := sim.Simulate(x, sim.Change{}, end), sim.Simulate(x, sim.Change{Factors: map[int32]float64{region: 0.25}}, end)
				got = append(got, 1-doubt.Period(after.Visits[0], end)/doubt.Period(before.Visits[0], end))
			}
			const off = 0.02
			if min(got[0], got[1])-off > want || max(got[0], got[1])+off < want {
				t.Errorf("commit 75 %% faster: %.3f to %.3f less time between visits, want %.3f within", got[0], got[1], want)
			}
			if got[0]-got[1] < off && got[1]-got[0] < off {
				t.Errorf("%.3f and %.3f: alike", got[0], got[1])
			}
		})
	}
}

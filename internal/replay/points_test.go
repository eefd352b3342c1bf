package replay

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestRootsAmongOthers counts the requests of clients, whose spans have the name of the calls that
// they lead to.
func TestRootsAmongOthers(t *testing.T) {
	get, other := trace.Region{Name: "HTTP GET"}, trace.Region{Name: "GET /"}
	for name, tc := range map[string]struct {
		calls uint64 // below each request
		other bool   // requests have another name
		want  map[string]int
	}{
		"alone":                       {want: map[string]int{"HTTP GET": 20}},
		"one call each":               {calls: 1, want: map[string]int{"HTTP GET": 20}},
		"three calls each":            {calls: 3, want: map[string]int{"HTTP GET": 20}},
		"three calls, of other names": {calls: 3, other: true, want: map[string]int{"GET /": 20}},
	} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 1)
			b.Running(0, 1)
			region := get
			if tc.other {
				region = other
			}
			for i := range uint64(20) {
				at := int64(i) * ms
				b.Open(at, 1, 10*i+1, 0, region)
				for k := range tc.calls {
					b.Open(at+1, 1, 10*i+2+k, 10*i+1, get)
					b.Close(at+2, 1, 10*i+2+k)
				}
				b.Close(at+3, 1, 10*i+1)
			}
			p := infer.NewProgram(recorded(t, b, 20*ms), true)
			got := map[string]int{}
			for i, v := range p.Recorded() {
				got[p.Points[i].Name] = len(v)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("visits of progress points, -want +got:\n%s", diff)
			}
		})
	}
}

package profile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// openProfile is of a program to which requests come at times of their own: their latency has
// numbers, and a counted point beside it.
func openProfile() Profile {
	p := Profile{Recorded: &Recorded{
		Windows: 5, Length: 10 * time.Second, CPU: 8 * time.Second, Others: 5 * time.Second, Stolen: 40 * time.Millisecond, Starved: 0.25, Stalled: 400 * time.Millisecond,
		Progress: []RecordedProgress{{Progress: "done", Visits: 900, Windows: 5, Loop: loopOpen}, {Progress: "request", Visits: 900, Windows: 5, Loop: loopOpen}},
	}}
	for _, progress := range []string{"done", "request"} {
		p.Curves = append(p.Curves, replayedCurve("query", progress, map[float64]float64{0.25: 0}))
	}
	for _, m := range []Metric{MetricLatencyP99, MetricLatencyP50} {
		c := replayedCurve("query", "request", map[float64]float64{0.25: 0.2})
		c.Metric, c.BasePeriod = m, 5*time.Millisecond
		p.Curves = append(p.Curves, c)
	}
	p.Finish()
	return p
}

// TestOpenLoop answers with latency where throughput cannot change, and says what the machine did
// meanwhile.
func TestOpenLoop(t *testing.T) {
	var out strings.Builder
	if err := openProfile().WriteAnswer(&out, ""); err != nil {
		t.Fatal(err)
	}
	want := `what helps most   query
by how much       25 % faster, the median latency of request would be 20.0 % less (18.0 to 22.0 %)
what it rests on  5 recorded windows of 10s together, simulated; nothing was delayed; 900 visits; nothing changed is met within 0.0 %
how work comes    in an open loop, at times that do not depend on how fast the program is: latency can change, throughput cannot

by how many % the latency of request shrinks if a region is faster by
  region  mode    latency    25 %                      
  query   replay  p50 (5ms)  20.0 ±0.4 (18.0 .. 22.0)  
  query   replay  p99 (5ms)  20.0 ±0.4 (18.0 .. 22.0)  
note: goroutines had no processor for 25 % of the time that they ran (the program had 8s of processor time, other programs had 5s): intervals are wider by that
note: the program stood still for 400ms of 10s, which is left out
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("WriteAnswer (-want +got):\n%s", diff)
	}
}

// TestConditionsSaved saves what a profile says of the machine and of loops, and merges it.
func TestConditionsSaved(t *testing.T) {
	p := openProfile()
	var text bytes.Buffer
	if err := p.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	read, err := Read(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Recorded, read.Recorded); diff != "" {
		t.Errorf("Recorded (-saved +read):\n%s", diff)
	}
	other := openProfile()
	other.Recorded.Windows, other.Recorded.Starved, other.Recorded.Progress[0].Loop = 15, 0.05, loopClosed
	m := Merge(p, other).Recorded
	if m.CPU != 16*time.Second || m.Stalled != 800*time.Millisecond || m.Starved < 0.0999 || m.Starved > 0.1001 {
		t.Errorf("merged %+v, want the sums, and 10 %% starved", m)
	}
	if m.Progress[0].Loop != "" || m.Progress[1].Loop != loopOpen {
		t.Errorf("merged loops %q and %q, want none where they differ, and open", m.Progress[0].Loop, m.Progress[1].Loop)
	}
	for _, bad := range []string{`"starved": 1.5`, `"stolen_ns": -3`} {
		key, _, _ := strings.Cut(bad, ":")
		i := bytes.Index(text.Bytes(), []byte(key))
		if i < 0 {
			t.Fatalf("no %s in the profile", key)
		}
		end := i + bytes.IndexByte(text.Bytes()[i:], ',')
		changed := string(text.Bytes()[:i]) + bad + string(text.Bytes()[end:])
		if _, err := Read(strings.NewReader(changed)); err == nil {
			t.Errorf("a profile with %s was read, want an error", bad)
		}
	}
}

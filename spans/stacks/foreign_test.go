package stacks_test

import (
	"bytes"
	"context"
	"io"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/otelprof/otelprof/spans/stacks"
)

// Other code that stops our profile and starts its own at once, as agents do that send one profile
// after the other, gets a whole profile: what it reads begins with nothing of ours.
func TestOthersStopAndStart(t *testing.T) {
	p, _ := start(t, stacks.WithWindow(time.Minute))
	for range 5 {
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
		burnSine(forTime(30 * time.Millisecond))
		var b bytes.Buffer
		pprof.StopCPUProfile()
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Fatal(err)
		}
		burnRoot(forTime(100 * time.Millisecond))
		p.Snapshot(0) // finds that ours has ended, and leaves theirs alone
		if pprof.StartCPUProfile(io.Discard) == nil {
			t.Fatal("their profile has been ended")
		}
		pprof.StopCPUProfile()
		theirs, err := profile.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		if len(theirs.Sample) == 0 {
			t.Error("their profile has no samples")
		}
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.Samples == 0 {
		t.Errorf("stats %+v, want samples of ours", s)
	}
}

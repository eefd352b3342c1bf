package noise

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/testutil"
)

func TestForeign(t *testing.T) {
	at := time.Now()
	before := Noise{Began: at, busy: 5 * time.Second, ours: time.Second}
	for _, tc := range []struct {
		name string
		now  Noise
		part float64
		loud bool
	}{
		{"ours alone", Noise{Began: at.Add(time.Second), busy: 6 * time.Second, ours: 2 * time.Second}, 0, false},
		{"a little", Noise{Began: at.Add(time.Second), busy: 6050 * time.Millisecond, ours: 2 * time.Second}, 0.05, false},
		{"much", Noise{Began: at.Add(time.Second), busy: 6500 * time.Millisecond, ours: 2 * time.Second}, 0.5, true},
		{"counted late", Noise{Began: at.Add(time.Second), busy: 5 * time.Second, ours: 2 * time.Second}, 0, false},
		{"not known", Noise{Began: at.Add(time.Second), busy: 9 * time.Second, unknown: true}, 0, false},
	} {
		if part, loudness := before.until(tc.now); part != tc.part || loudness > 1 != tc.loud {
			t.Errorf("%s: %v, loudness %v; want %v, loud %t", tc.name, part, loudness, tc.part, tc.loud)
		}
	}
}

// TestProcessTime has this process compute until the kernel has counted it.
func TestProcessTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		testutil.Lacks(t, "PROC", "the times of processes are known on Linux")
	}
	before, err := processTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	machine := Listen()
	if machine.unknown {
		t.Error("the time of this process or the machine is not known")
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		now, err := processTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the process has had %v for 10 s, want more", now)
		}
	}
	if now := Listen(); now.busy < machine.busy || now.ours <= machine.ours {
		t.Errorf("the machine had %v, then %v; this process %v, then %v", machine.busy, now.busy, machine.ours, now.ours)
	}
}

// TestRetry has what is measured again be bounded by its patience.
func TestRetry(t *testing.T) {
	predictions, windows := Tally{Patience: time.Minute}, Tally{Patience: time.Minute}
	for _, tc := range []struct {
		t    *Tally
		took time.Duration
		want bool
	}{
		{&predictions, time.Hour, true},
		{&predictions, time.Second, false},
		{&windows, time.Second, true},
		{&windows, time.Second, true},
	} {
		if got := tc.t.Retry(time.Now().Add(-tc.took)); got != tc.want {
			t.Errorf("again after %v = %v, want %v", tc.took, got, tc.want)
		}
	}
}

package record

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// After two recordings in a row that stopped the world for too long there is none for an hour, even
// while a reader waits for one. One alone does not count.
func TestRecordingsKeepAwayFromLongPauses(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.set(func() { f.stopped = maxPause + time.Millisecond })
		for range 50 {
			f.pass(time.Minute, true)
		}
		check(t, f, 2, 3)
		if got := f.Status().Reason; !strings.Contains(got, "stopped the world, the last for 6ms") {
			t.Errorf("Reason = %q, want why there is none", got)
		}
		f.set(func() { f.stopped = maxPause })
		for range 20 {
			f.pass(time.Minute, true)
		}
		if len(f.windows) < 5 {
			t.Errorf("%d windows in 70 minutes, want further ones after an hour", len(f.windows))
		}
	})
}

// The world that is stopped for a profile of all goroutines is seen to be.
func TestPausesSince(t *testing.T) {
	longest := pausesSince()
	if got := longest(); got != 0 {
		t.Logf("%v: others stopped the world", got)
	}
	longest = pausesSince()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) - 1)
	if got := longest(); got <= 0 || got > time.Second {
		t.Errorf("the world was stopped for %v, want a short time", got)
	}
}

func TestLeft(t *testing.T) {
	if got := left(fstest.MapFS{}); got != math.MaxInt64 {
		t.Errorf("left = %d without a limit", got)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(1 << 40)
	if got := left(fstest.MapFS{}); got >= 1<<40 || got < 1<<39 {
		t.Errorf("left = %d with GOMEMLIMIT of 1 TiB, want a little less", got)
	}
	debug.SetMemoryLimit(1 << 20)
	if got := left(fstest.MapFS{}); got >= Least {
		t.Errorf("left = %d with GOMEMLIMIT of 1 MiB, want less than a recording takes", got)
	}
}

// A window on demand leaves half of the memory to the program, whatever is known of it.
func TestMostFollowsMemoryLeft(t *testing.T) {
	for left, want := range map[int64]int{Least: ownBytes, 4 * Least: 4 * ownBytes, 1 << 50: MaxBytes, math.MaxInt64: unlimited} {
		if got := most(left); got != want {
			t.Errorf("most(%d) = %d, want %d", left, got, want)
		}
	}
}

// A window takes as much memory as it may, among very many goroutines too. GOROUTINES says among
// how many.
func TestWindowIsBoundedAmongManyGoroutines(t *testing.T) {
	n := 20_000 // of more none is taken unasked
	if text := os.Getenv("GOROUTINES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	var begun, ended sync.WaitGroup
	leave := make(chan struct{})
	for range n {
		begun.Add(1)
		ended.Go(func() { begun.Done(); <-leave })
	}
	begun.Wait()
	w, err := Take(t.Context(), 200*time.Millisecond, ownBytes)
	close(leave)
	ended.Wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d goroutines: %.1f MiB, world stopped for %v at most, begin %v, end %v", n, float64(w.Bytes())/(1<<20), w.Stopped, w.Starting, w.Stopping)
	if w.Bytes() > 2*ownBytes {
		t.Errorf("%d bytes, want at most %d", w.Bytes(), 2*ownBytes)
	}
	if got := len(w.recorded.chunks) * chunk; got > w.Bytes()+2*chunk {
		t.Errorf("%d bytes of memory for %d", got, w.Bytes())
	}
}

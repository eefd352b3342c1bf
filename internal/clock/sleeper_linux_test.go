package clock

import (
	"os"
	"sync"
	"testing"
	"time"
)

// However many goroutines sleep at once, the timers take few of the application's files.
func TestSleepersTakeFewFiles(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := files()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			Sleep(Now(), 10*time.Second, func() bool {
				select {
				case <-stop:
					return false
				default:
					return true
				}
			})
		})
	}
	time.Sleep(20 * time.Millisecond)
	if more := files() - before; more > mostTimers+2 { // the poller has two
		t.Errorf("%d more files with 1000 goroutines asleep, want at most %d", more, mostTimers+2)
	}
	close(stop)
	wg.Wait()
	if got := timers.Load(); got > mostTimers {
		t.Errorf("%d timers counted, want at most %d", got, mostTimers)
	}
}

package top

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A terminal is a pseudo-terminal: the program has one end, and the test types and reads at the
// other.
type terminal struct {
	program, user *os.File

	mu     sync.Mutex
	screen strings.Builder // all that was drawn
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		testutil.Lacks(t, "PTY", fmt.Sprint("has no pseudo-terminals: ", err))
	}
	var number, locked uint32
	err = errors.Join(ioctl(user, syscall.TIOCSPTLCK, unsafe.Pointer(&locked)), ioctl(user, syscall.TIOCGPTN, unsafe.Pointer(&number)))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{program: program, user: user}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 1<<12)
		for {
			n, err := user.Read(b)
			if err != nil {
				return // the other end is closed
			}
			x.mu.Lock()
			x.screen.Write(b[:n])
			x.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_, _ = user.WriteString("\n") // wakes a goroutine that still reads keys, and would hold the file open
		_ = program.Close()
		<-read
		_ = user.Close()
	})
	return x
}

func ioctl(f *os.File, request uintptr, to unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(to)); errno != 0 {
		return errno
	}
	return nil
}

func (x *terminal) resize(t *testing.T, rows, columns uint16) {
	t.Helper()
	if err := ioctl(x.user, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{rows, columns})); err != nil {
		t.Fatal(err)
	}
}

// types writes keys and waits until what is drawn from then on has a text.
func (x *terminal) types(t *testing.T, keys, text string) {
	t.Helper()
	x.mu.Lock()
	x.screen.Reset()
	x.mu.Unlock()
	if _, err := x.user.WriteString(keys); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		x.mu.Lock()
		screen := x.screen.String()
		x.mu.Unlock()
		if strings.Contains(screen, text) {
			return
		}
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("after %q: %q is not in %q", keys, text, screen)
		}
	}
}

// TestTopTerminal uses the program as a user at a terminal does: while the viewer is there, while
// it is away, and when it is back.
func TestTopTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	x := newTerminal(t)
	x.resize(t, 20, 120)
	var away atomic.Bool
	var count atomic.Uint64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() || !strings.HasSuffix(r.URL.Path, "/regions") {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		n := 100 * count.Add(1) // one that takes 2.06 µs, all others 0.96 µs
		fmt.Fprintf(w, `{"relative_error":0.001,"regions":[
			{"name":"price","count":%d,"self_ns":%d,"p50_ns":960,"p99_ns":960,"max_ns":2063,"pmu":{"ipc":1.5},"cumulative":{"buckets":[[896,1023,100],[2048,2079,%d]]}},
			{"name":"ship","count":7,"self_ns":7,"max_ns":5}]}`, n, n, n-100)
	}))
	defer server.Close()
	done := make(chan int)
	var errs strings.Builder
	go func() {
		done <- run([]string{"top", "-url", server.URL, "-interval", "100ms"}, x.program, x.program, &errs)
	}()
	x.types(t, "", "of 10s  every 100ms")
	x.types(t, "", "2.06µs") // the p50 of the window
	x.types(t, "", "ipc")
	x.types(t, "ww", "since the start  every 100ms")
	x.types(t, "", "960ns")
	x.types(t, "/shi\r", "1 of 2 regions with /shi")
	x.types(t, "\x1bOQ", "1 of 2 regions with /shi") // F2 is no Q
	x.types(t, "\x1b", "  2 regions")
	x.types(t, "n", "percentiles within 0.1 %")
	away.Store(true)
	x.types(t, "", "connection lost")
	x.types(t, "", "price") // what was there stays
	away.Store(false)
	x.types(t, "", "  2 regions  since the start  every 100ms")
	x.resize(t, 20, 40)
	x.types(t, " ", "…") // the first line has no room
	x.mu.Lock()
	if strings.Contains(x.screen.String(), "\x1b[1m") {
		t.Error("there are colours, with NO_COLOR")
	}
	x.mu.Unlock()
	x.types(t, "q", leaveScreen)
	if status := <-done; status != 0 || errs.Len() > 0 {
		t.Errorf("status %d, errors %q", status, &errs)
	}
}

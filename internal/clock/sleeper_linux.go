package clock

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Precise reports whether [Sleep] can wait for less than a millisecond.
const Precise = true

// A sleeper is a timer of the kernel's that the runtime's poller waits for, like for a
// connection: the goroutine is parked and wakes up within microseconds. A timer of package time
// takes a millisecond at least when the process has nothing else to do, since the poller's own
// timeout is in whole milliseconds.
type sleeper struct {
	timer *os.File // nil if the kernel gave none
	fd    int
	ticks [8]byte
}

// mostTimers bounds the timers, and so the files that they take: the application needs files, too.
// A caller that finds none sleeps up to 1 ms longer.
const mostTimers = 64

var (
	spare  = make(chan *sleeper, mostTimers) // not in use
	timers atomic.Int64
	plain  = &sleeper{} // has none
)

func takeSleeper() *sleeper {
	select {
	case s := <-spare:
		return s
	default:
	}
	if timers.Add(1) > mostTimers {
		timers.Add(-1)
		return plain
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil { // out of files
		timers.Add(-1)
		return plain
	}
	return &sleeper{timer: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
}

func (s *sleeper) giveBack() {
	if s.timer == nil {
		return
	}
	spare <- s // has room for all that there are
}

func (s *sleeper) sleep(d time.Duration) {
	if s.timer == nil {
		time.Sleep(d)
		return
	}
	value := unix.NsecToTimespec(max(1, int64(d)))
	if unix.TimerfdSettime(s.fd, 0, &unix.ItimerSpec{Value: value}, nil) != nil {
		time.Sleep(d)
		return
	}
	if _, err := s.timer.Read(s.ticks[:]); err != nil {
		time.Sleep(d)
	}
}

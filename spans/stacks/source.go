package stacks

import (
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
	"unsafe"
)

// A source takes samples of the whole process. Start, stop and release are not called at the
// same time.
type source interface {
	// take keeps others from the CPU profile, until release. It is an error if other code holds
	// it.
	take() error
	release()
	// start begins to sample, and stop ends it.
	start(hz int)
	stop()
	// read waits for samples. After eof, which comes after stop, there are none. Samples that are
	// few may come no earlier than that.
	read() (data []uint64, tags []unsafe.Pointer, eof bool)
}

// runtimeSource is the runtime's CPU profile.
type runtimeSource struct{}

// take takes the CPU profile by runtime/pprof, so that other code that asks for it gets the
// error that it is in use. What package pprof begins then, at its fixed 100 Hz, ends at once:
// it has read to the end when it writes its empty profile, and waits for StopCPUProfile. In
// between the runtime's profile can be had at any rate, and read here.
func (runtimeSource) take() error {
	empty := &firstWrite{done: make(chan struct{})}
	if err := pprof.StartCPUProfile(empty); err != nil {
		return err
	}
	runtime.SetCPUProfileRate(0)
	<-empty.done
	return nil
}

func (runtimeSource) release() { pprof.StopCPUProfile() }

func (runtimeSource) start(hz int) { runtime.SetCPUProfileRate(hz) }
func (runtimeSource) stop()        { runtime.SetCPUProfileRate(0) }

func (runtimeSource) read() (data []uint64, tags []unsafe.Pointer, eof bool) {
	data, tags, eof = readProfile()
	if len(data) == 0 && !eof {
		time.Sleep(100 * time.Millisecond) // systems on which reading does not wait
	}
	return data, tags, eof
}

// firstWrite says when the first bytes come.
type firstWrite struct {
	once sync.Once
	done chan struct{}
}

var _ io.Writer = (*firstWrite)(nil)

func (w *firstWrite) Write(b []byte) (int, error) {
	w.once.Do(func() { close(w.done) })
	return len(b), nil
}

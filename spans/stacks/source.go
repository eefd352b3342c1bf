package stacks

import (
	"io"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A source takes samples of the whole process. Take, start and stop are not called at the same
// time.
type source interface {
	// take keeps others from the CPU profile, until stop. It is an error if other code holds it.
	take() error
	// start begins to sample. Stop ends it and gives the CPU profile back, and reports whether it
	// has: if not, other code has ended it, and may hold the CPU profile by now.
	start(hz int)
	stop() bool
	// read waits for samples. After eof, which comes when sampling has ended, there are none.
	// Samples that are few may come no earlier than that.
	read() (data []uint64, tags []unsafe.Pointer, eof bool)
	// letGo is called at eof. What it returns lets stop return, or other code that has ended the
	// sampling have the CPU profile. It is called when it is known that all samples have been read.
	letGo() func()
}

// runtimeSource is the runtime's CPU profile.
type runtimeSource struct {
	held *heldWrite
	// ended is set by stop, or when other code has ended sampling.
	ended atomic.Bool
}

// take takes the CPU profile by runtime/pprof, so that other code that asks for it gets the
// error that it is in use. What package pprof begins then, at its fixed 100 Hz, ends at once:
// it has read to the end when it writes its empty profile, and is held there. In between the
// runtime's profile can be had at any rate, and read here. Other code's StopCPUProfile waits for
// that write, so that it does not return before all has been read: what was left would be taken
// for the beginning of its next profile, and package pprof panics at that.
func (s *runtimeSource) take() error {
	held := &heldWrite{begun: make(chan struct{}), over: make(chan struct{})}
	if err := pprof.StartCPUProfile(held); err != nil {
		return err
	}
	runtime.SetCPUProfileRate(0)
	<-held.begun
	s.held = held
	return nil
}

func (s *runtimeSource) start(hz int) {
	s.ended.Store(false)
	runtime.SetCPUProfileRate(hz)
}

func (s *runtimeSource) stop() bool {
	if s.ended.Swap(true) {
		return false
	}
	runtime.SetCPUProfileRate(0) // first: a stop of other code's that came before start waits for the end
	pprof.StopCPUProfile()
	return true
}

func (s *runtimeSource) letGo() func() {
	s.ended.Store(true)
	held := s.held
	return func() { close(held.over) }
}

func (*runtimeSource) read() (data []uint64, tags []unsafe.Pointer, eof bool) {
	data, tags, eof = readProfile()
	if len(data) == 0 && !eof {
		time.Sleep(100 * time.Millisecond) // systems on which reading does not wait
	}
	return data, tags, eof
}

// heldWrite reports when its first write begins, and holds it until it is over.
type heldWrite struct {
	once        sync.Once
	begun, over chan struct{}
}

var _ io.Writer = (*heldWrite)(nil)

func (w *heldWrite) Write([]byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	<-w.over
	return 0, io.ErrClosedPipe // else a compressor is made, of a megabyte, for nothing
}

package stacks

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// fakeSource hands out what the test samples.
type fakeSource struct {
	mu       sync.Mutex
	taken    bool
	busy     bool
	hz       int
	records  []uint64
	tags     []unsafe.Pointer
	ended    chan struct{}
	handsOut bool
}

func (s *fakeSource) take() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy || s.taken {
		return errors.New("cpu profiling already in use")
	}
	s.taken = true
	return nil
}

func (s *fakeSource) start(hz int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hz, s.ended, s.handsOut = hz, make(chan struct{}), false
	s.records, s.tags = []uint64{3, 0, uint64(hz)}, []unsafe.Pointer{nil}
}

func (s *fakeSource) stop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken {
		return false
	}
	close(s.ended)
	s.taken = false
	return true
}

func (s *fakeSource) letGo() func() { return func() {} }

// read gives nothing before the end, as the runtime does with few samples.
func (s *fakeSource) read() ([]uint64, []unsafe.Pointer, bool) {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handsOut {
		return nil, nil, true
	}
	s.handsOut = true
	return s.records, s.tags, false
}

// sample adds n samples of the function at pc.
func (s *fakeSource) sample(n int, tag unsafe.Pointer, pc uintptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, 4, 0, uint64(n), uint64(pc))
	s.tags = append(s.tags, tag)
}

func (s *fakeSource) lose(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records, s.tags = append(s.records, 4, 0, 0, uint64(n)), append(s.tags, nil)
}

// steal stands for other code that stops the profile and takes it.
func (s *fakeSource) steal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ended)
	s.taken, s.busy = false, true
}

func here() uintptr { return reflect.ValueOf(here).Pointer() + 1 } // as the runtime has it

func withSource(s source) Option {
	return optionFunc(func(c config) config { c.source = s; return c })
}

func testProfiler(t *testing.T, opts ...Option) (*Profiler, *fakeSource) {
	t.Helper()
	src := new(fakeSource)
	p, err := NewProfiler(append([]Option{withSource(src)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p, src
}

func TestWindowsAndHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := testProfiler(t, WithWindow(5*time.Second), WithHistory(10*time.Second))
		defer p.Shutdown(context.Background())
		l := p.hook.add(spans.Region{Name: "op"})
		for i := range 4 {
			src.sample(10*(i+1), l.labels, here())
			src.sample(1, nil, here())
			src.lose(2)
			time.Sleep(5 * time.Second)
			synctest.Wait()
		}
		r := p.Snapshot(0)
		op, ok := r.Tree("op")
		if !ok || op.Total().Samples != 90 || r.Process().Total().Samples != 93 || r.Lost != 6 {
			t.Errorf("three windows: %v in op, %v in all, %d lost, want 90, 93 and 6", op.Total(), r.Process().Total(), r.Lost)
		}
		if r := p.Snapshot(3 * time.Second); r.Process().Total().Samples != 41 || r.Duration != 5*time.Second {
			t.Errorf("last 3 s: %v in %v, want the 41 samples of the last window", r.Process().Total(), r.Duration)
		}
		s := p.Stats()
		if s.State != Running || s.Samples != 104 || s.Lost != 8 || s.Sampled != 1040*time.Millisecond {
			t.Errorf("stats %+v", s)
		}
		if f := op.table.frames[0]; !strings.HasSuffix(f.Func, "stacks.here") || f.File != "profiler_test.go" {
			t.Errorf("frame %+v", f)
		}
	})
}

// What the runtime still keeps is asked for, once a second at most.
func TestSnapshotIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := testProfiler(t)
		defer p.Shutdown(context.Background())
		time.Sleep(time.Second)
		src.sample(3, nil, here())
		if got := p.Snapshot(0).Process().Total().Samples; got != 3 {
			t.Errorf("%d samples, want the 3 of a moment ago", got)
		}
		src.sample(4, nil, here())
		if got := p.Snapshot(0).Process().Total().Samples; got != 3 {
			t.Errorf("%d samples, want 3 again", got)
		}
		time.Sleep(time.Second)
		if got := p.Snapshot(0).Process().Total().Samples; got != 7 {
			t.Errorf("%d samples a second later, want 7", got)
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := testProfiler(t, WithPaused(), WithRate(200))
		defer p.Shutdown(context.Background())
		if s := p.Stats(); s.State != Paused || src.taken || p.hook.on.Load() {
			t.Errorf("paused at first: %+v", s)
		}
		for range 2 {
			if err := p.Resume(); err != nil || !src.taken || src.hz != 200 || !p.hook.on.Load() {
				t.Errorf("resume: %v, taken %v at %d Hz", err, src.taken, src.hz)
			}
		}
		src.sample(5, nil, here())
		p.Pause()
		p.Pause()
		if s := p.Stats(); s.State != Paused || src.taken || s.Samples != 5 || p.hook.on.Load() {
			t.Errorf("paused: %+v, taken %v", s, src.taken)
		}
		time.Sleep(time.Minute)
		if src.taken {
			t.Error("sampling has begun by itself")
		}
	})
}

func TestSomebodyElseProfiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &fakeSource{busy: true}
		p, err := NewProfiler(withSource(src))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(context.Background())
		if s := p.Stats(); s.State != Busy || !strings.Contains(s.Reason, "already in use") || s.Pauses != 1 {
			t.Errorf("stats %+v", s)
		}
		const want = "stacks: cpu profile: already taken in this process: cpu profiling already in use"
		if err := p.Resume(); !errors.Is(err, ErrBusy) || err.Error() != want {
			t.Errorf("resume: %v, want %s", err, want)
		}
		if err := p.Record(t.Context(), new(bytes.Buffer), time.Second); !errors.Is(err, ErrBusy) {
			t.Errorf("record: %v, want ErrBusy", err)
		}
		src.mu.Lock()
		src.busy = false
		src.mu.Unlock()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if s := p.Stats(); s.State != Running || s.Reason != "" {
			t.Errorf("when it is free again: %+v", s)
		}
	})
}

// Other code that stops our profile, as a careless defer does, gets it, and the profiler waits.
func TestSomebodyElseStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := testProfiler(t)
		defer p.Shutdown(context.Background())
		src.sample(5, nil, here())
		src.steal()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if s := p.Stats(); s.State != Busy || s.Samples != 5 || p.hook.on.Load() {
			t.Errorf("stopped by another: %+v", s)
		}
		p.Pause()
		if src.taken {
			t.Error("pausing has ended a profile that is not ours")
		}
		src.busy = false
		if err := p.Resume(); err != nil {
			t.Error(err)
		}
	})
}

// stoppedMeanwhile is a source of which other code stops the profile before ours is on.
type stoppedMeanwhile struct {
	runtimeSource
	once    sync.Once
	stopped chan struct{}
}

func (s *stoppedMeanwhile) take() error {
	err := s.runtimeSource.take()
	s.once.Do(func() {
		go func() { pprof.StopCPUProfile(); close(s.stopped) }()
		time.Sleep(10 * time.Millisecond)
	})
	return err
}

func TestStopWhileOursIsOff(t *testing.T) {
	src := &stoppedMeanwhile{stopped: make(chan struct{})}
	p, err := NewProfiler(withSource(src))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	if s := p.Stats(); s.State == Busy {
		testutil.Lacks(t, "CPUPROFILE", "the CPU profile is already taken, as with -cpuprofile: "+s.Reason)
	}
	p.Snapshot(0)
	<-src.stopped
}

func TestRecordingWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := testProfiler(t, WithPaused())
		defer p.Shutdown(context.Background())
		l := p.hook.add(spans.Region{Name: "op"})
		go func() {
			time.Sleep(time.Second)
			src.sample(7, l.labels, here())
			src.lose(3)
		}()
		var b bytes.Buffer
		if err := p.Record(t.Context(), &b, 12*time.Second); err != nil {
			t.Fatal(err)
		}
		if s := p.Stats(); s.State != Paused || src.taken {
			t.Errorf("afterwards: %+v, taken %v", s, src.taken)
		}
		r, err := Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if op, ok := r.Tree("op"); !ok || op.Total().Samples != 7 || r.Duration != 12*time.Second || r.Hz != 100 || r.Lost != 3 {
			t.Errorf("recording: %v in op, %v at %d Hz, %d lost", op.Total(), r.Duration, r.Hz, r.Lost)
		}
	})
}

func TestRecordingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := testProfiler(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Record(ctx, new(bytes.Buffer), time.Minute); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1s of 1m0s") {
			t.Errorf("canceled: %v", err)
		}
		if err := p.Record(t.Context(), new(bytes.Buffer), 0); !errors.Is(err, ErrConfig) {
			t.Errorf("for 0: %v, want ErrConfig", err)
		}
		go func() {
			time.Sleep(time.Second)
			p.Shutdown(context.Background())
		}()
		if err := p.Record(t.Context(), new(bytes.Buffer), time.Minute); !errors.Is(err, ErrClosed) {
			t.Errorf("closed in between: %v, want ErrClosed", err)
		}
		p.Shutdown(context.Background())
		if err := p.Record(t.Context(), new(bytes.Buffer), time.Minute); !errors.Is(err, ErrClosed) {
			t.Errorf("closed: %v, want ErrClosed", err)
		}
		if err := p.Resume(); !errors.Is(err, ErrClosed) || p.Stats().State != Closed {
			t.Errorf("resume when closed: %v, %v", err, p.Stats().State)
		}
		p.Pause()
	})
}

// A recording in which other code had the CPU profile is not whole: it is refused, whether or not
// samples have been taken again since.
func TestRecordingIsCutShort(t *testing.T) {
	for _, again := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, src := testProfiler(t)
			defer p.Shutdown(context.Background())
			go func() {
				time.Sleep(time.Second)
				src.sample(7, nil, here())
				src.steal()
				time.Sleep(10 * time.Second)
				src.mu.Lock()
				src.busy = !again
				src.mu.Unlock()
			}()
			var b bytes.Buffer
			if err := p.Record(t.Context(), &b, time.Minute); !errors.Is(err, ErrBusy) || b.Len() != 0 {
				t.Errorf("sampling again %t: %v and %d bytes, want ErrBusy and none", again, err, b.Len())
			}
			if s := p.Stats().State; (s == Running) != again {
				t.Errorf("sampling again %t: it is %s", again, s)
			}
		})
	}
}

func TestSessionTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, src := testProfiler(t)
		defer p.Shutdown(context.Background())
		tr := testTracer(t, p.Hook())
		ctx, root := tr.Start(ContextWithSession(t.Context()), "root")
		id := sessionID(ctx)
		src.sample(3, profLabels(), here())
		_, child := tr.Start(ctx, "child")
		src.sample(4, profLabels(), here())
		child.End()
		root.End()
		_, other := tr.Start(t.Context(), "root")
		src.sample(5, profLabels(), here())
		other.End()
		tree, ok := p.Session(id) // with what the runtime holds back yet
		if !ok || tree.Total().Samples != 7 {
			t.Errorf("session: %v, %v, want 7 samples", tree, ok)
		}
		r := p.Snapshot(0)
		for name, want := range map[string]int64{"root": 8, "child": 4} {
			if got, _ := r.Tree(name); got.Total().Samples != want {
				t.Errorf("region %s: %v, want %d samples", name, got.Total(), want)
			}
		}
	})
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		opt  Option
		want string
	}{
		{WithRate(0), "stacks: configuration: rate 0 Hz: must be in [1, 200]"},
		{WithRate(201), "stacks: configuration: rate 201 Hz: must be in [1, 200]"},
		{WithWindow(time.Millisecond), "stacks: configuration: window 1ms: must be in [1s, 1m]"},
		{WithHistory(time.Second), "stacks: configuration: history 1s: must be in [5s, 1h], from one window on"},
	} {
		if _, err := NewProfiler(tc.opt); !errors.Is(err, ErrConfig) || err.Error() != tc.want {
			t.Errorf("New: %v, want %s", err, tc.want)
		}
	}
}

func TestHandlerRefuses(t *testing.T) {
	src := &fakeSource{busy: true}
	p, err := NewProfiler(withSource(src))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	for query, want := range map[string]int{"seconds=0": 400, "seconds=x": 400, "seconds=3601": 400, "seconds=1": 409} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/profile?"+query, nil))
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", query, w.Code, w.Body, want)
		}
	}
}

// Data that is not in the runtime's format is left out.
func TestOddRecords(t *testing.T) {
	h := newHook(false, false)
	s := newSampler(100, h)
	s.current = newWindow()
	tags := make([]unsafe.Pointer, 4)
	for _, data := range [][]uint64{nil, {}, {1}, {2, 0, 0}, {9, 0, 1}, {3, 0, 100, 3}, {3, 0, 100, 4, 0, 1, 77}} {
		s.take(data, tags, true)
	}
	if s.current.samples != 1 {
		t.Errorf("%d samples, want the whole one", s.current.samples)
	}
	if got := s.resolve([]uint64{1}); s.table.frames[got[0]].Func != "[unknown]" {
		t.Errorf("an address without a function is %v", s.table.frames[got[0]])
	}
	runtime.KeepAlive(tags)
}

// The runtime writes all counters of a stack as those of returns, as runtime.Callers does.
func TestResolve(t *testing.T) {
	s := newSampler(100, newHook(false, false))
	from := here()
	for pc := from; runtime.FuncForPC(pc-1).Entry() == from-1; pc++ {
		want, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		got := s.table.frames[s.resolve([]uint64{uint64(pc)})[0]]
		if got != NewFrame(want.Function, want.File, want.Line) {
			t.Errorf("%d bytes in: %+v, want %s at line %d", pc-from, got, want.Function, want.Line)
		}
	}
}

func sessionID(ctx context.Context) spans.SessionID { return spans.SessionFromContext(ctx).ID() }

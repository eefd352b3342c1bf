package record

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A fake is a recorder in a bubble, whose windows have so many bytes a second.
type fake struct {
	*Recorder
	begun time.Time

	mu        sync.Mutex
	windows   []time.Duration // when they began, after the fake did
	lengths   []time.Duration
	perSecond int
	analysis  time.Duration // how long that takes
	taking    error
	adding    error
	panics    any
	away      string
	stopped   time.Duration
	wanting   bool // there are no numbers
}

// set changes what the fake does.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// run runs test in a bubble with a recorder that records of its own accord.
func run(t *testing.T, test func(t *testing.T, f *fake)) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{begun: time.Now()}
		f.Recorder = NewRecorder(func(context.Context, *Window) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			time.Sleep(f.analysis)
			if f.panics != nil {
				panic(f.panics)
			}
			return f.adding
		}, func(context.Context) (func(), error) { return func() {}, nil }, func() string {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.away
		}, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !f.wanting
		})
		f.meter = func() func() time.Duration {
			begin := time.Now()
			return func() time.Duration { return time.Since(begin) }
		}
		f.take = func(ctx context.Context, d time.Duration, limit int) (*Window, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.taking != nil {
				return nil, f.taking
			}
			f.windows = append(f.windows, time.Since(f.begun))
			f.lengths = append(f.lengths, d)
			w := &Window{Begun: time.Now(), Length: d, Stopped: f.stopped, recorded: &buffer{n: int(d.Seconds() * float64(f.perSecond))}}
			f.mu.Unlock()
			defer f.mu.Lock()
			select {
			case <-time.After(d):
				return w, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); f.Run(ctx) }()
		synctest.Wait()
		test(t, f)
		cancel()
		<-ended
	})
}

// pass lets so much time pass, with a span each second and, if looks is true, a look each half
// minute.
func (f *fake) pass(d time.Duration, looks bool) {
	for i := range int(d / time.Second) {
		f.SawSpan()
		if looks && i%30 == 0 {
			f.SawLook()
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

func check(t *testing.T, f *fake, seconds ...int) {
	t.Helper()
	want := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		want[i] = time.Duration(s) * time.Second
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	got := make([]time.Duration, len(f.windows))
	for i, at := range f.windows {
		got[i] = at.Truncate(time.Second)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

func TestNoWindowWithoutSpans(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.SawLook()
		time.Sleep(time.Hour)
		check(t, f)
		f.SawSpan()
		time.Sleep(time.Hour)
		check(t, f, 3602)
		if s := f.Status(); s.Recordings != 1 || s.Phase != Waiting || s.Reason != "" || s.Last == nil || s.Last.Length != longest {
			t.Errorf("status %+v, want one recording", s)
		}
	})
}

func TestWindowsAreRare(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.pass(10*time.Minute, false)
		check(t, f, 2, 302)
	})
}

func TestWindowsWhileSomebodyLooks(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.pass(2*time.Minute, false)
		f.pass(3*time.Minute, true)
		check(t, f, 2, 120, 121, 122, 123, 183, 243)
		f.pass(20*time.Minute, false) // the last look was at 270 s
		check(t, f, 2, 120, 121, 122, 123, 183, 243, 303, 363, 423, 483, 543, 603, 903, 1203)
	})
}

// TestFirstNumbers reads the profile from the beginning: five windows within 10 s of the first
// span.
func TestFirstNumbers(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.set(func() { f.analysis = 500 * time.Millisecond })
		f.pass(time.Minute, true)
		var at []float64
		f.set(func() {
			for _, w := range f.windows {
				at = append(at, w.Seconds())
			}
		})
		if diff := cmp.Diff([]float64{2, 3.6, 5.2, 6.8, 8.4}, at); diff != "" {
			t.Errorf("windows (-want +got):\n%s", diff)
		}
		f.pass(2*time.Minute, true)
		// 5 % of a core are five times 10 s, but a minute must pass anyhow.
		check(t, f, 2, 3, 5, 6, 8, 68, 128)
	})
}

// TestFurtherWindows has windows of which too few give numbers: there are up to ten, and then one a
// minute.
func TestFurtherWindows(t *testing.T) {
	for name, tc := range map[string]struct {
		after int // windows there are numbers
		want  []int
	}{
		"never":  {100, []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 71}},
		"at six": {6, []int{2, 3, 4, 5, 6, 7, 67}},
		"at two": {2, []int{2, 3, 4, 5, 6, 66}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, f *fake) {
				f.set(func() { f.wanting = true })
				for range 90 {
					f.pass(time.Second, true)
					f.set(func() { f.wanting = len(f.windows) < tc.after })
				}
				check(t, f, tc.want...)
			})
		})
	}
}

func TestAnalysisIsBounded(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.set(func() { f.analysis = 30 * time.Second })
		f.pass(25*time.Minute, true)
		check(t, f, 2, 602, 1202)
	})
}

func TestWindowsGetShorter(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.set(func() { f.perSecond = ownBytes })
		f.pass(5*time.Minute, false)
		f.set(func() { f.perSecond = 10 * ownBytes })
		f.pass(5*time.Minute, false)
		f.pass(5*time.Minute, false)
		f.set(func() { f.perSecond = 1000 })
		f.pass(10*time.Minute, false)
		want := []time.Duration{longest, time.Second, shortest, shortest, longest}
		if diff := cmp.Diff(want, f.lengths); diff != "" {
			t.Errorf("lengths (-want +got):\n%s", diff)
		}
	})
}

func TestLaterIfNotNow(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.set(func() { f.away = "experiments" })
		f.pass(30*time.Second, false)
		check(t, f)
		if s := f.Status(); s.Reason != "experiments" || s.Failed != 0 || s.Next.Before(time.Now()) {
			t.Errorf("status %+v, want that experiments keep away", s)
		}
		f.set(func() { f.away, f.taking = "", ErrTraced })
		f.pass(30*time.Second, false)
		if s := f.Status(); !strings.Contains(s.Reason, "flight recorder of its own") || s.Failed == 0 {
			t.Errorf("status %+v, want that the program is being traced", s)
		}
		f.set(func() { f.taking = nil })
		f.pass(time.Minute, false)
		check(t, f, 62)
		if s := f.Status(); s.Reason != "" || s.Recordings != 1 {
			t.Errorf("status %+v, want one recording and no reason", s)
		}
	})
}

func TestAnalysisFails(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.set(func() { f.adding = errors.New("cannot be read") })
		f.pass(10*time.Second, false)
		if s := f.Status(); s.Recordings != 0 || s.Failed != 1 || s.Reason != "cannot be read" || s.Last == nil {
			t.Errorf("status %+v, want one that failed", s)
		}
		f.set(func() { f.adding, f.panics = nil, "at the wheel" })
		f.pass(5*time.Minute, false)
		if s := f.Status(); s.Failed != 2 || !strings.Contains(s.Reason, "at the wheel") || s.Phase != Waiting {
			t.Errorf("status %+v, want a second one that failed", s)
		}
		f.set(func() { f.panics = nil })
		if err := f.Record(t.Context(), time.Second); err != nil {
			t.Errorf("Record: %v", err)
		}
		check(t, f, 2, 302, 310)
	})
}

func TestRecord(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		f.set(func() { f.analysis = 3 * time.Second })
		go func() { _ = f.Record(t.Context(), 10*time.Second) }()
		time.Sleep(5 * time.Second)
		if s := f.Status(); s.Phase != Recording {
			t.Errorf("status %+v, want recording", s)
		}
		time.Sleep(6 * time.Second)
		if s := f.Status(); s.Phase != Analysing {
			t.Errorf("status %+v, want analysing", s)
		}
		if err := f.Record(t.Context(), time.Second); err != nil {
			t.Errorf("Record after another: %v", err)
		}
		check(t, f, 0, 13)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if err := f.Record(ctx, time.Minute); err == nil || err.Error() != "enough" {
			t.Errorf("Record = %v, want the cause", err)
		}
		f.turn <- struct{}{}
		if err := f.Record(ctx, time.Minute); err == nil || err.Error() != "enough" {
			t.Errorf("Record while another one is = %v, want the cause", err)
		}
		<-f.turn
	})
}

func BenchmarkSawSpan(b *testing.B) {
	r := NewRecorder(nil, nil, nil, nil)
	for b.Loop() {
		r.SawSpan()
	}
}

// What is to go on beside a window does not while the window waits for its turn.
func TestBesideWindow(t *testing.T) {
	run(t, func(t *testing.T, f *fake) {
		var on atomic.Bool
		ended := make(chan error)
		f.turn <- struct{}{} // another one is recorded
		go func() {
			_, err := f.Window(t.Context(), 2*time.Second, func() func() { on.Store(true); return func() { on.Store(false) } })
			ended <- err
		}()
		time.Sleep(time.Minute)
		if on.Load() {
			t.Error("it is on while the window waits")
		}
		<-f.turn
		time.Sleep(time.Second)
		if !on.Load() {
			t.Error("it is not on during the window")
		}
		if err := <-ended; err != nil || on.Load() {
			t.Errorf("Window = %v, and it is on: %v, want neither", err, on.Load())
		}
	})
}

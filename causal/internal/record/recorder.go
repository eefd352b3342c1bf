package record

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// When windows are recorded of a Recorder's own accord. The comments of causal.WithReplay say the
// same.
const (
	settle   = 2 * time.Second // after the first span, so that the program has started
	longest  = 3 * time.Second
	shortest = 500 * time.Millisecond
	often    = time.Minute     // from one to the next, while the profile is read
	rarely   = 5 * time.Minute // otherwise
	interest = 5 * time.Minute // after a look
	again    = 10 * time.Second

	// While a reader has not got a number, since an interval takes several windows, these come
	// one after the other, unless it takes long to analyse them.
	first      = 5
	mostFirst  = 10                     // if the first are not enough
	firstEvery = 100 * time.Millisecond // from the end of an analysis to the next window
	firstTake  = time.Second
	firstCost  = 5 * time.Second // of processor time for all analyses

	// coreShare is the part of one core, on average, that analyses may take.
	coreShare = 0.05
)

// A Recorder records windows, on request or of its own accord, and has them analysed. Any
// goroutine may call its methods.
type Recorder struct {
	add      func(ctx context.Context, w *Window) error
	wait     func(ctx context.Context) (done func(), err error)
	keepAway func() string
	enough   func() bool
	take     func(ctx context.Context, d time.Duration, limit int) (*Window, error)
	meter    func() (stop func() time.Duration) // of processor time

	// idle is set until a span ends after the last window began, if windows are recorded of
	// its own accord.
	idle    atomic.Bool
	looked  atomic.Int64  // when the profile was last read, in Unix ns
	exports atomic.Int64  // when it was last exported
	changed chan struct{} // wakes Run

	turn chan struct{} // held while a window is recorded and analysed

	mu        sync.Mutex
	status    Status
	seen      time.Time // when Run first knew of a span
	last      time.Time // when the last window began
	over      time.Time // when its analysis had ended
	spent     time.Duration
	notBefore time.Time // the next window, for what the last have cost
	retry     time.Time // the next window, after a failure, or where the world was stopped for too long
	away      string    // why that is, "" for a failure
	stops     int       // the last windows, one after the other, that stopped the world for too long
}

// Status is what a Recorder is doing.
type Status struct {
	Phase              Phase
	Recordings, Failed int
	Reason             string // why there was no window when the last was due, or why it could not be read
	Next               time.Time
	Last               *Info
}

// A Phase is what a Recorder is doing.
type Phase string

// The phases of a Recorder.
const (
	Waiting   Phase = "waiting"
	Recording Phase = "recording"
	Analysing Phase = "analysing"
)

// Info is what a window took. It does not change.
type Info struct {
	Begun              time.Time
	Length             time.Duration
	Bytes              int
	Cut, Shared        bool
	Goroutines         int
	Starting, Stopping time.Duration
	Analysis, CPU      time.Duration
	Stopped            time.Duration
}

// NewRecorder returns a recorder that gives its windows to add, one after the other. It calls wait
// before each, and done after it. KeepAway returns why no window should be recorded now of the
// recorder's own accord, "" if one may be; it is nil if none are. Enough reports whether the
// windows so far give numbers that further ones would hardly make better.
func NewRecorder(add func(ctx context.Context, w *Window) error, wait func(ctx context.Context) (done func(), err error), keepAway func() string, enough func() bool) *Recorder {
	r := &Recorder{
		add: add, wait: wait, keepAway: keepAway, enough: enough, take: Take, meter: threadTime,
		changed: make(chan struct{}, 1), turn: make(chan struct{}, 1), status: Status{Phase: Waiting},
	}
	r.idle.Store(keepAway != nil) // from now on, since spans may end before Run is called
	return r
}

// SawSpan is called for each span that has ended. It is one atomic load, as a rule.
func (r *Recorder) SawSpan() {
	if r.idle.Load() && r.idle.CompareAndSwap(true, false) {
		r.wake()
	}
}

// SawLook is called when the profile has been read.
func (r *Recorder) SawLook() { r.saw(&r.looked) }

// SawExport is called when the profile has been exported.
func (r *Recorder) SawExport() { r.saw(&r.exports) }

func (r *Recorder) saw(interest *atomic.Int64) {
	if before := interest.Swap(time.Now().UnixNano()); !recent(before) {
		r.wake()
	}
}

func recent(look int64) bool { return look != 0 && time.Since(time.Unix(0, look)) < interest }

func (r *Recorder) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Run records windows of the recorder's own accord until ctx ends. It is called once at most.
func (r *Recorder) Run(ctx context.Context) {
	for {
		// Without spans there is nothing to record, and no need to wake up.
		var due <-chan time.Time
		if !r.idle.Load() {
			due = time.After(time.Until(r.next()))
		}
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		case <-due:
			r.due(ctx)
		}
	}
}

// next returns when the next window begins.
func (r *Recorder) next() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.IsZero() {
		r.seen = time.Now()
	}
	next := r.seen.Add(settle)
	switch {
	case r.last.IsZero():
	case r.hurries():
		next = r.over.Add(firstEvery)
	case recent(r.looked.Load()) || recent(r.exports.Load()):
		next = latest(r.last.Add(often), r.notBefore)
	default:
		next = latest(r.last.Add(rarely), r.notBefore)
	}
	r.status.Next = latest(next, r.retry)
	return r.status.Next
}

// hurries reports whether a reader waits for the first numbers.
func (r *Recorder) hurries() bool {
	n := r.status.Recordings
	return (n < first || n < mostFirst && !r.enough()) && r.spent < firstCost && recent(r.looked.Load())
}

func latest(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// due records a window, if nothing speaks against it.
func (r *Recorder) due(ctx context.Context) {
	if why := r.keepAway(); why != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.status.Reason = why
		r.retry = time.Now().Add(again)
		return
	}
	r.idle.Store(true)
	if err := r.record(ctx, r.length(), ownBytes); err != nil {
		r.idle.Store(false) // the spans have not been recorded
	}
}

// length returns how long a window should be, by how much there was in the last.
func (r *Recorder) length() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	usual := longest
	if r.hurries() {
		usual = firstTake
	}
	last := r.status.Last
	if last == nil || last.Length <= 0 {
		return usual
	}
	perSecond := float64(last.Bytes) / last.Length.Seconds()
	fits := time.Duration(ownBytes / max(perSecond, 1) * float64(time.Second))
	return min(max(fits, shortest), usual)
}

// Record records a window of this length, even where periodic recording would not, and has it
// analysed. It waits while another one is, and ends with ctx.
func (r *Recorder) Record(ctx context.Context, d time.Duration) error {
	return r.record(ctx, d, most(Left()))
}

func (r *Recorder) record(ctx context.Context, d time.Duration, limit int) (err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() {
		// The analysis reads what the whole program has done. A mistake in it must not end that.
		if p := recover(); p != nil {
			err = fmt.Errorf("analysis: panic: %v", p)
		}
		r.ended(err)
	}()
	w, err := r.window(ctx, d, limit, func() func() { return func() {} })
	if err != nil {
		return err
	}
	r.enter(Analysing)
	begin, stop := time.Now(), r.meter()
	defer func() { r.done(w, time.Since(begin), stop()) }() // also after a panic
	return r.add(ctx, w)
}

// Window records a window of this length, as [Recorder.Record] does, and returns it in place of an
// analysis. It counts as no recording. Beside is called when its turn has come, and end after it.
func (r *Recorder) Window(ctx context.Context, d time.Duration, beside func() (end func())) (*Window, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer r.enter(Waiting)
	return r.window(ctx, d, most(Left()), beside)
}

func (r *Recorder) window(ctx context.Context, d time.Duration, limit int, beside func() (end func())) (*Window, error) {
	done, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r.enter(Recording)
	defer beside()()
	return r.take(ctx, d, limit)
}

func (r *Recorder) enter(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Phase = p
}

// done books what a window has cost, and keeps the next away for as long as that takes.
func (r *Recorder) done(w *Window, analysis, cpu time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.over = w.Begun, time.Now()
	r.spent += cpu
	r.notBefore = latest(r.notBefore, w.Begun).Add(time.Duration(float64(cpu) / coreShare))
	r.status.Last = &Info{
		Begun: w.Begun, Length: w.Length, Bytes: w.Bytes(), Cut: w.Cut, Shared: w.Shared, Goroutines: w.Goroutines,
		Starting: w.Starting, Stopping: w.Stopping, Stopped: w.Stopped, Analysis: analysis, CPU: cpu,
	}
	// One may be due to a busy machine.
	if r.stops++; w.Stopped <= maxPause {
		r.stops = 0
	}
	if r.away = ""; r.stops >= 2 {
		r.away = fmt.Sprintf("the last two recordings stopped the world, the last for %v: those of its own accord may for %v at most, and there is none for %v", w.Stopped, maxPause, avoid)
		r.retry = time.Now().Add(avoid)
	}
}

// ended books how a recording has ended.
func (r *Recorder) ended(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Phase, r.status.Reason = Waiting, r.away
	if err == nil {
		r.status.Recordings++
		return
	}
	r.status.Failed++
	r.status.Reason = err.Error()
	r.retry = latest(r.retry, time.Now().Add(again))
}

// Status returns what the recorder is doing.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

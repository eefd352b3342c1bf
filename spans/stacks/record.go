package stacks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/google/pprof/profile"

	"github.com/otelprof/otelprof/internal/naming"
)

// maxRecording bounds a recording.
const maxRecording = time.Hour

// Record takes samples for d, in (0, 1h], and writes a recording, see [Recording.WritePprof]. It
// takes part in the sampling that is under way, or begins it and ends it again. The error wraps
// [ErrBusy] if other code holds the CPU profile, or takes it meanwhile.
func (p *Profiler) Record(ctx context.Context, w io.Writer, d time.Duration) error {
	c, got, err := p.collect(ctx, d)
	if err != nil {
		return err
	}
	trees := map[int]*Tree{}
	for tag, t := range c.trees {
		number, _ := p.hook.labels.find(tag)
		if trees[number] == nil {
			trees[number] = NewTree()
		}
		trees[number].Merge(t)
	}
	got.trees = trees
	return p.record([]*window{got}).WritePprof(w)
}

// Profile takes samples for d, in (0, 1h], as Record does, and returns them with the links to spans
// that goroutines had, see [WithSpanLabels], as the labels trace_id and span_id. It has no other
// labels of the application's. Beyond 16,384 different sets of labels, samples have those of their
// region only. If it ends early, with ctx, it returns an error and the profile has
// the samples up to then.
func (p *Profiler) Profile(ctx context.Context, d time.Duration) (*profile.Profile, error) {
	c, got, err := p.collect(ctx, d)
	if c == nil {
		return nil, err
	}
	return p.linked(c, got, func(key string) bool { return key == naming.TraceIDLabel || key == naming.SpanIDLabel }), err
}

// Record is [Profiler.Record] for a process that has no profiler: it makes one for the time.
func Record(ctx context.Context, w io.Writer, d time.Duration) error {
	p, err := NewProfiler(WithPaused())
	if err != nil {
		return err
	}
	defer p.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // It waits until it has ended.
	return p.Record(ctx, w, d)
}

// collect takes part in sampling for d. It begins to sample for that, if need be.
// The error wraps [ErrBusy] if other code has taken the CPU profile meanwhile.
func (p *Profiler) collect(ctx context.Context, d time.Duration) (*collector, *window, error) {
	if d <= 0 || d > maxRecording {
		return nil, nil, fmt.Errorf("%w: recording of %v: must be in (0, %v]", ErrConfig, d, maxRecording)
	}
	c, w, pauses, err := p.join()
	if err != nil {
		return nil, nil, err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		err = fmt.Errorf("stacks: recording: ended after %v of %v: %w", time.Since(w.begin).Round(time.Millisecond), d, ctx.Err())
	case <-p.stop:
		err = ErrClosed
	}
	w = p.leave(c, w)
	if p.Stats().Pauses != pauses {
		w.cpu = 0 // which has times without samples
		err = errors.Join(err, fmt.Errorf("%w: in the middle of the recording", ErrBusy))
	}
	return c, w, err
}

// join makes the caller a guest, for whom samples are taken although the profiler may be paused.
func (p *Profiler) join() (c *collector, w *window, pauses uint64, err error) {
	p.control.Lock()
	defer p.control.Unlock()
	if p.closed {
		return nil, nil, 0, ErrClosed
	}
	p.begin()
	p.flush() // what is from before is not the guest's
	if err := p.busy(); err != nil {
		if p.paused && p.guests == 0 {
			p.become(Paused, "")
		}
		return nil, nil, 0, err
	}
	p.guests++
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sampler.listen(), newWindow(), p.stats.Pauses, nil
}

// leave returns the guest's window.
func (p *Profiler) leave(c *collector, w *window) *window {
	p.control.Lock()
	defer p.control.Unlock()
	w = w.until(time.Now())
	p.flush()
	if p.guests--; p.guests == 0 && p.paused && !p.closed {
		p.end(Paused)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sampler.unlisten(c)
	w.lost = c.lost
	for _, t := range c.trees {
		w.samples += t.Total().Samples
	}
	return w
}

// ServeHTTP answers with a profile of the next seconds, as /debug/pprof/profile of package
// net/http/pprof does, from the samples that are taken anyway: mount it at that path. The query's
// seconds are in [1, 3600], 30 if there are none. Other than a recording, the profile also has the
// labels that the application itself has set; like one it has no addresses and no directories.
//
// Access control is the server's. The status is 409 while other code holds the CPU profile.
func (p *Profiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, err := seconds(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c, got, err := p.collect(r.Context(), d)
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	out := p.linked(c, got, func(string) bool { return true })
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="profile"`)
	h.Set("X-Content-Type-Options", "nosniff")
	_ = out.Write(w) // the client has gone, so the error has no recipient
}

// seconds reads the duration, which must be shorter than the server may take for an answer.
func seconds(r *http.Request) (time.Duration, error) {
	n := 30
	if text := r.URL.Query().Get("seconds"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > int(maxRecording/time.Second) {
			return 0, fmt.Errorf("seconds %q: must be an integer in [1, %d]", text, maxRecording/time.Second)
		}
	}
	d := time.Duration(n) * time.Second
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.WriteTimeout > 0 && d >= s.WriteTimeout {
		return 0, fmt.Errorf("seconds %d: must be less than the server's write timeout of %v", n, s.WriteTimeout)
	}
	return d, nil
}

// linked makes the profile of what was collected, with the labels that are wanted beside those of
// regions.
func (p *Profiler) linked(c *collector, got *window, wanted func(key string) bool) *profile.Profile {
	b := newProfileBuilder(p.record([]*window{got}))
	scale := got.scale(p.config.hz, got.cpu)
	tags := slices.Collect(maps.Keys(c.trees))
	number := func(tag unsafe.Pointer) int { n, _ := p.hook.labels.find(tag); return n }
	slices.SortFunc(tags, func(x, y unsafe.Pointer) int { return cmp.Compare(number(x), number(y)) })
	for _, tag := range tags {
		region, _ := p.hook.labels.region(number(tag))
		b.add(c.trees[tag], number(tag), region, otherLabels(tag, wanted), scale)
	}
	return b.Profile
}

// otherLabels are those of a goroutine that are wanted, less the numbers of ours.
func otherLabels(tag unsafe.Pointer, wanted func(key string) bool) map[string]string {
	out := map[string]string{}
	pprof.ForLabels(withLabels(context.Background(), tag), func(key, value string) bool {
		if key != naming.RegionLabel && key != naming.SessionLabel && wanted(key) {
			out[key] = value
		}
		return true
	})
	return out
}

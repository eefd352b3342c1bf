package stacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// maxRecording bounds a recording.
const maxRecording = time.Hour

// Record takes samples for d, in (0, 1h], and writes a recording, see [Recording.WritePprof]. It
// takes part in the sampling that is under way, or begins it and ends it again. The error wraps
// [ErrBusy] while somebody else has the CPU profile.
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

// Record is [Profiler.Record] for a process that has no profiler: it makes one for the time.
func Record(ctx context.Context, w io.Writer, d time.Duration) error {
	p, err := New(WithPaused())
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // It has no errors.
	return p.Record(ctx, w, d)
}

// collect takes part in sampling for d. It begins to sample for that, if need be.
func (p *Profiler) collect(ctx context.Context, d time.Duration) (*collector, *window, error) {
	if d <= 0 || d > maxRecording {
		return nil, nil, fmt.Errorf("%w: recording of %v: must be in (0, %v]", ErrConfig, d, maxRecording)
	}
	c, w, err := p.join()
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
	return c, p.leave(c, w), err
}

// join makes the caller a guest, for whom samples are taken although the profiler may be paused.
func (p *Profiler) join() (*collector, *window, error) {
	p.control.Lock()
	defer p.control.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
	}
	p.begin()
	p.flush() // what is from before is not the guest's
	if err := p.busy(); err != nil {
		if p.paused && p.guests == 0 {
			p.become(Paused, "")
		}
		return nil, nil, err
	}
	p.guests++
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sampler.listen(), newWindow(), nil
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
// Who can reach it is the server's to decide. The status is 409 while somebody else has the
// CPU profile.
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
	b := newProfileBuilder(p.record([]*window{got}))
	named := map[int]bool{}
	for _, g := range p.groups(c) {
		if region, ok := p.hook.labels.region(g.number); ok && !named[g.number] {
			named[g.number] = true
			b.name(g.number, region)
		}
		t := NewTree()
		t.merge(g.tree, sameFrame, got.scale(p.config.hz))
		b.add(t, g.number, g.labels)
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="profile"`)
	h.Set("X-Content-Type-Options", "nosniff")
	_ = b.profile.Write(w) // the client has gone: there is nobody to tell
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

// A group is what was sampled with the same labels.
type group struct {
	number int
	labels map[string][]string // the application's
	tree   *Tree
}

// groups are ordered by region.
func (p *Profiler) groups(c *collector) []group {
	var all []group
	for tag, t := range c.trees {
		g := group{tree: t}
		g.number, _ = p.hook.labels.find(tag)
		g.labels = applicationLabels(tag)
		all = append(all, g)
	}
	slices.SortStableFunc(all, func(a, b group) int { return a.number - b.number })
	return all
}

func applicationLabels(tag unsafe.Pointer) map[string][]string {
	var out map[string][]string
	pprof.ForLabels(withLabels(context.Background(), tag), func(key, value string) bool {
		if key != regionLabel && key != sessionLabel {
			if out == nil {
				out = map[string][]string{}
			}
			out[key] = []string{value}
		}
		return true
	})
	return out
}

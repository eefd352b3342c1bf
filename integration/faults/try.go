package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/exporter"
)

// What must hold.
const (
	ratioMost      = 1.1
	saidMost       = 3
	heapMost       = 16 << 20
	goroutinesMost = 4
	peakMost       = 64 // MiB
	attempts       = 3  // at the ratio alone, which other processes disturb
)

// A result is a line.
type result struct {
	requests, failed int
	ratio            float64 // 0 without a service to compare with
	lost             int64
	counted          uint64 // dropped, and counted
	said             []string
	before           int // lines logged before the fault, about what the machine lacks
	resident         int
	peak, barePeak   int // MiB of resident memory, with and without otelprof
	recordings       int // that have been analysed
	goroutines       int
	faults           []string // what does not hold
	slow             bool     // the ratio is among them
}

// try runs one fault and prints its line; it reports whether all held.
func try(ctx context.Context, f fault, s sizes, stdout, stderr io.Writer) bool {
	for attempt := 1; ; attempt++ {
		r, err := once(ctx, f, s, stderr)
		if lacks := (lack{}); errors.As(err, &lacks) {
			fmt.Fprintf(stdout, "fault %s skipped=%q\n", f.name, lacks.Error())
			return os.Getenv("REQUIRE_FAULTS") == ""
		}
		if err != nil {
			fmt.Fprintf(stdout, "fault %s error=%q\n", f.name, err)
			return false
		}
		if len(r.faults) == 1 && r.slow && attempt < attempts {
			fmt.Fprintf(stdout, "# fault %s: p99_ratio=%.2f, tried again\n", f.name, r.ratio)
			continue
		}
		ratio := "-"
		if r.ratio > 0 {
			ratio = fmt.Sprintf("%.2f", r.ratio)
		}
		verdict := "ok"
		if len(r.faults) > 0 {
			verdict = strings.Join(r.faults, "; ")
		}
		fmt.Fprintf(stdout, "fault %s requests=%d failed=%d p99_ratio=%s lost=%d said=%d rss_mb=%d peak_mb=%d bare_peak_mb=%d recordings=%d goroutines=%+d dropped=%d %s\n",
			f.name, r.requests, r.failed, ratio, r.lost, len(r.said), r.resident, r.peak, r.barePeak, r.recordings, r.goroutines, r.counted, verdict)
		if len(r.said) > saidMost {
			for _, line := range r.said[:min(len(r.said), 20)] {
				fmt.Fprintf(stdout, "#   %.300s\n", line)
			}
		}
		return len(r.faults) == 0
	}
}

// once runs one fault a single time and returns what became of the services.
func once(ctx context.Context, f fault, s sizes, stderr io.Writer) (r result, err error) {
	b, err := newBench()
	if err != nil {
		return r, err
	}
	defer b.close()
	if f.prepare != nil {
		if err := f.prepare(b); err != nil {
			return r, err
		}
	}
	if err := b.start(ctx, f, stderr); err != nil {
		return r, err
	}
	if f.terminates {
		return terminated(ctx, f, s, b)
	}
	return underLoad(ctx, f, s, b)
}

// underLoad is a fault that lasts for a time while both services answer requests.
func underLoad(ctx context.Context, f fault, s sizes, b *bench) (r result, err error) {
	l := startLoad(ctx, b.twins, f.clients, patience)
	defer l.end()
	before, err := warmUp(ctx, f, s, b)
	if err != nil {
		return r, err
	}
	r.before = len(before[ours].Said)
	l.take()
	if err := r.runFault(ctx, f, s, b, l); err != nil {
		return r, err
	}
	after, err := settled(ctx, b, before)
	if err != nil {
		return r, err
	}
	r.judge(f, b, before, after)
	err = r.ending(b)
	return r, err
}

// warmUp waits until the services do what they always do, and returns their states before the
// fault.
func warmUp(ctx context.Context, f fault, s sizes, b *bench) (map[string]state, error) {
	if f.watched {
		b.watch(ctx)
	}
	time.Sleep(s.warm)
	if s.ratio && !f.young && !f.peak {
		if err := b.twins[ours].control(ctx, http.MethodGet, "/steady"); err != nil {
			return nil, err
		}
	}
	return b.states(ctx)
}

// runFault makes the fault, counts the requests while it lasts, and ends the fault and then the
// load.
func (r *result) runFault(ctx context.Context, f fault, s sizes, b *bench, l *load) error {
	var end func()
	if f.begin != nil {
		var err error
		if end, err = f.begin(ctx, b); err != nil {
			return err
		}
	}
	r.count(l.take())
	time.Sleep(s.of(f))
	during := l.take()
	r.count(during)
	r.compare(during, s.ratio && !f.peak)
	if s.looks > 0 && !f.watched {
		if err := b.twins[ours].control(ctx, http.MethodPost, "/look"); err != nil {
			return err
		}
		time.Sleep(s.looks)
		r.count(l.take())
	}
	if f.records {
		if err := b.twins[ours].control(ctx, http.MethodGet, "/recorded"); err != nil {
			r.fault("%v", err)
		}
	}
	if end != nil {
		end()
	}
	l.end()
	r.count(l.take())
	return nil
}

// judge holds memory and goroutines after the fault against their limits.
func (r *result) judge(f fault, b *bench, before, after map[string]state) {
	r.resident, r.goroutines = b.twins[ours].resident("VmRSS"), after[ours].Goroutines-before[ours].Goroutines
	r.peak, r.barePeak = b.twins[ours].resident("VmHWM"), b.twins[bare].resident("VmHWM")
	r.recordings = after[ours].Recording.Recordings
	if f.peak {
		r.bounded(f, after[ours].Recording)
	}
	if r.goroutines > goroutinesMost {
		r.fault("%d goroutines before, %d after", before[ours].Goroutines, after[ours].Goroutines)
	}
	if more := grown(before, after); more > heapMost {
		r.fault("heap grown by %d MiB more than without otelprof, to %d", more>>20, after[ours].Heap>>20)
	}
}

// count takes the requests that were made during the fault.
func (r *result) count(during map[string]counts) {
	c := during[ours]
	r.requests += c.requests
	r.failed += c.failed
	if c.failed > 0 {
		r.fault("%d requests failed: %v (%d without otelprof)", c.failed, c.err, during[bare].failed)
	}
}

// compare compares how long they took; judged is whether there were enough of them for that.
func (r *result) compare(during map[string]counts, judged bool) {
	own, base := during[ours].p99(), during[bare].p99()
	if base > 0 {
		r.ratio = float64(own) / float64(base)
	}
	if judged && (base == 0 || r.ratio > ratioMost) {
		r.slow = true
		r.fault("p99 %v, %v without otelprof", own.Round(time.Microsecond), base.Round(time.Microsecond))
	}
}

// bounded judges the peaks of resident memory, and whether recordings were made where there was
// memory for them, and only there.
func (r *result) bounded(f fault, s causal.RecordingStatus) {
	if more := r.peak - r.barePeak; r.barePeak == 0 || more > peakMost {
		r.fault("peak of resident memory %d MiB above that without otelprof", more)
	}
	if !f.records && (s.Recordings > 0 || !strings.Contains(s.Reason, "MiB of memory are left to the limit")) {
		r.fault("%d recordings with too little memory, reason %q", s.Recordings, s.Reason)
	}
}

// ending ends the services and looks at the accounts.
func (r *result) ending(b *bench) error {
	last, took, err := b.twins[ours].end() // first: requests may be on their way
	if _, _, err := b.twins[bare].end(); err != nil {
		return err
	}
	if err != nil {
		r.fault("%v", err)
		return nil
	}
	if last.Took > shutdownTimeout+100*time.Millisecond {
		r.fault("Shutdown took %v of %v, the process %v", last.Took.Round(time.Millisecond), shutdownTimeout, took.Round(time.Millisecond))
	}
	for _, e := range last.Exports {
		if !traces(e) {
			continue
		}
		// The pipeline may have had more: the audit of experiments has spans of its own.
		r.lost = max(r.lost, int64(last.Sampled)-int64(e.Ended()))
		r.counted += e.Ended() - e.Exported - e.Queued
		if strings.HasPrefix(e.Name, "otlp:") && b.collector.spans.Load() < int64(e.Exported) && b.collector.answer.Load() == accepts && !b.collector.lied.Load() {
			r.lost += int64(e.Exported) - b.collector.spans.Load()
		}
	}
	if r.lost != 0 {
		r.fault("%d spans ended, pipelines %+v", last.Sampled, last.Exports)
	}
	if r.said = last.Said[r.before:]; len(r.said) > saidMost {
		r.fault("%d lines in the log", len(r.said))
	}
	return nil
}

func traces(s exporter.Stats) bool { return strings.Contains(s.Name, "traces") }

// terminated is a fault at whose end the services must be gone.
func terminated(ctx context.Context, f fault, s sizes, b *bench) (r result, err error) {
	starting, err := b.twins[ours].state(ctx)
	if err != nil {
		return r, err
	}
	r.before = len(starting.Said)
	if !f.idle {
		l := startLoad(ctx, b.twins, f.clients, patience)
		defer l.end()
		time.Sleep(s.warm)
		if f.begin != nil {
			if _, err := f.begin(ctx, b); err != nil {
				return r, err
			}
		}
		l.stop()
		time.Sleep(time.Millisecond) // requests are on their way: each takes two at least
		defer func() {
			l.running.Wait()
			r.count(l.take())
		}()
	}
	r.resident = b.twins[ours].resident("VmRSS")
	err = r.ending(b)
	return r, err
}

// grown is by how many bytes more the heap of the service with otelprof has grown than that of the
// other.
func grown(before, after map[string]state) int64 {
	by := func(kind string) int64 { return int64(after[kind].Heap) - int64(before[kind].Heap) }
	return by(ours) - max(0, by(bare))
}

// settled waits until the service with otelprof is back to what it was, for 15 s at most, and
// returns what is then.
func settled(ctx context.Context, b *bench, before map[string]state) (after map[string]state, err error) {
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		if after, err = b.states(ctx); err != nil {
			return nil, err
		}
		back := after[ours].Goroutines <= before[ours].Goroutines+goroutinesMost && grown(before, after) <= heapMost
		if back || time.Now().After(deadline) {
			return after, nil
		}
	}
}

func (r *result) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

package backends

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/exporter"
	"github.com/otelprof/otelprof/otelhdr"
)

// TestFaults lets an application work while the Collector is down, slow, resetting, half-open and
// restarting. In each case ending a span takes no longer, memory is bounded, and every span is
// accounted for. With -long the faults last a minute.
func TestFaults(t *testing.T) {
	outage, answer := 5*time.Second, 3*time.Second
	if *long {
		outage, answer = time.Minute, 30*time.Second
	}
	s := newStack(t, nil)
	p := newProxy(t, s.http, answer)
	a := newApp(t, "faults", []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + p.address, "OTEL_EXPORTER_OTLP_TIMEOUT=2000", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none",
		"OTEL_BSP_SCHEDULE_DELAY=100",
	}, "")
	traces := func() exporter.Stats {
		for _, one := range a.Exports() {
			if strings.Contains(one.Name, "traces") {
				return one
			}
		}
		t.Fatal("no pipeline of traces")
		return exporter.Stats{}
	}

	// recovered waits until spans are delivered again.
	recovered := func() exporter.Stats {
		before := traces()
		eventually(t, 2*time.Minute, func() error {
			if now := traces(); now.Exported == before.Exported {
				return fmt.Errorf("nothing exported: %s", now.Outage)
			}
			return nil
		})
		return traces()
	}

	// Two goroutines end some 2000 spans a second.
	load := startLoad(t, a, 2, time.Millisecond)
	time.Sleep(time.Second)
	heap := heapInUse()
	for _, f := range []fault{down, slow, resets, halfOpen} {
		before := traces()
		load.ends.Reset()
		p.become(t, f)
		time.Sleep(outage)
		if f == resets {
			eventually(t, 5*time.Minute, func() error {
				if n := p.resets.Load(); n < 100 {
					return fmt.Errorf("%d connections reset, want 100", n)
				}
				return nil
			})
		}
		grown := heapInUse() - heap
		ends := load.ends.Snapshot(nil)
		p.become(t, passes)
		after := recovered()
		check(t, "fault_"+f.String(), "figure=%v p99.9 of Span.End, most %v, over %v; %d spans ended, %d exported, %d lost and counted; heap %+.1f MiB",
			time.Duration(ends.Percentile(99.9)), time.Duration(ends.Max()), outage,
			after.Ended()-before.Ended(), after.Exported-before.Exported, lost(after)-lost(before), float64(grown)/(1<<20))
		if grown > 64<<20 {
			t.Errorf("%v: the heap has grown by %d bytes, want at most 64 MiB", f, grown)
		}
	}
	// The Collector restarts twice, once in good order.
	before := traces()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	s.restart(t)
	time.Sleep(time.Second)
	s.kill()
	s.restart(t)
	after := recovered()
	check(t, "fault_restarts", "figure=%d spans exported, %d lost and counted, while the Collector restarted twice", after.Exported-before.Exported, lost(after)-lost(before))

	ended := load.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	end := traces()
	if end.Ended() != ended || end.Queued != 0 {
		t.Errorf("%+v: sum %d, want %d, the spans that have ended", end, end.Ended(), ended)
	}
	check(t, "fault_accounts", "figure=%d spans ended = %d exported + %d failed + %d rejected + %d queue full + %d unfinished",
		ended, end.Exported, end.Failed, end.Rejected, end.QueueFull, end.Unfinished)
	// All spans counted as exported have arrived. More may have, where the answer was lost.
	if arrived := len(s.jaeger.all(t, "faults", int(end.Exported))); uint64(arrived) > ended {
		t.Errorf("%d spans in Jaeger, want at most %d", arrived, ended)
	} else {
		check(t, "fault_arrived", "figure=%d spans in Jaeger, at least the %d exported", arrived, end.Exported)
	}
}

func lost(s exporter.Stats) uint64 { return s.Failed + s.Rejected + s.QueueFull + s.Unfinished }

// A load ends spans until it is stopped.
type load struct {
	ends    *otelhdr.Concurrent // durations of Span.End, ns
	started time.Time
	quit    chan struct{}
	running sync.WaitGroup
	ended   atomic.Uint64
}

// startLoad lets goroutines end one span in each period.
func startLoad(t testing.TB, a *app, goroutines int, period time.Duration) *load {
	t.Helper()
	ends, err := otelhdr.NewConcurrent()
	if err != nil {
		t.Fatal(err)
	}
	l := &load{ends: ends, started: time.Now(), quit: make(chan struct{})}
	tracer := a.TracerProvider().Tracer("load")
	for range goroutines {
		l.running.Go(func() {
			for ticker := time.NewTicker(period); ; {
				select {
				case <-l.quit:
					ticker.Stop()
					return
				case <-ticker.C:
				}
				_, span := tracer.Start(context.Background(), "unit")
				start := time.Now()
				span.End()
				l.ends.Record(uint64(time.Since(start)))
				l.ended.Add(1)
			}
		})
	}
	t.Cleanup(func() { l.stop() })
	return l
}

// stop ends the load and returns how many spans have ended.
func (l *load) stop() uint64 {
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	l.running.Wait()
	return l.ended.Load()
}

func heapInUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse)
}

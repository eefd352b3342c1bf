package schedule

import (
	"bytes"
	rt "runtime"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"
)

func TestProcessors(t *testing.T) {
	var p processors
	at := xtrace.Time(100)
	turn := func(id xtrace.ProcID, to xtrace.ProcState, after xtrace.Time) {
		at += after
		from := xtrace.ProcIdle
		if to == xtrace.ProcIdle {
			from = xtrace.ProcRunning
		}
		p.transition(at, xtrace.MakeProcStateTransition(id, from, to))
	}
	p.most = 2
	turn(0, xtrace.ProcRunning, 0)
	turn(1, xtrace.ProcRunning, 10)
	turn(0, xtrace.ProcIdle, 20) // both were busy for 20
	turn(0, xtrace.ProcRunning, 30)
	r := Report{Window: 100}
	p.finish(&r, at+40) // and for 40
	if want := (20*20/2 + 40*40/2) / 100; r.Busy != 0.6 || r.ProcessorWait != time.Duration(want) {
		t.Errorf("busy %v, processor wait %d; want .6 and %d", r.Busy, r.ProcessorWait, want)
	}
}

// In traces of the runtime a program that computes on all processors is busy, and one that waits is
// not.
func TestBusyProcessors(t *testing.T) {
	record := func(work func(end time.Time)) Report {
		var b bytes.Buffer
		if err := trace.Start(&b); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range rt.GOMAXPROCS(0) + 1 {
			all.Go(func() { work(time.Now().Add(100 * time.Millisecond)) })
		}
		all.Wait()
		trace.Stop()
		r, err := Analyze(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		return *r
	}
	// On a machine that has other work, a thread may get its processor late: of three recordings
	// one has both at once.
	var computing Report
	for range 3 {
		computing = record(func(end time.Time) {
			for time.Now().Before(end) {
			}
		})
		if computing.Busy >= 0.8 {
			break
		}
	}
	waiting := record(func(end time.Time) {
		for time.Now().Before(end) {
			time.Sleep(5 * time.Millisecond)
		}
	})
	if computing.Busy < 0.8 || waiting.Busy > 0.5 || computing.ProcessorWait <= waiting.ProcessorWait {
		t.Errorf("computing: busy %.2f, processor wait %v; waiting: %.2f, %v", computing.Busy, computing.ProcessorWait, waiting.Busy, waiting.ProcessorWait)
	}
}

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	xtrace "golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil"
)

// traceDuring returns the execution trace of f.
func traceDuring(t *testing.T, f func()) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	f()
	trace.Stop()
	return b.Bytes()
}

// pulled takes n values from an iterator that needs d for each.
func pulled(n int, d time.Duration) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := range n {
			if time.Sleep(d); !yield(i) {
				return
			}
		}
	})
	defer stop()
	for ok := true; ok; {
		_, ok = next()
	}
}

// blockedRead reads a pipe in a system call, until another goroutine writes.
func blockedRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	direct := os.NewFile(r.Fd(), "direct") // no longer of the network poller
	time.AfterFunc(30*time.Millisecond, func() { _ = w.Close() })
	_, _ = direct.Read(make([]byte, 1))
	runtime.SetFinalizer(direct, nil)
}

func collected(t *testing.T) {
	for range 3 {
		runtime.GC()
	}
	ctx, task := trace.NewTask(context.Background(), "task")
	trace.WithRegion(ctx, "region", func() { trace.Log(ctx, "category", "message") })
	task.End()
	side(3, func(int) {
		for range 100 {
			runtime.Gosched()
		}
	})
	c := make(chan int)
	go func() { defer close(c); c <- 1 }()
	for range c {
		time.Sleep(time.Millisecond)
	}
	blockedRead(t)
}

// cProgram has a thread of C call into Go while a trace is taken.
const cProgram = `package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
extern void back(void);
static void *thread(void *p) { back(); return p; }
static void call(void) { pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); }
*/
import "C"

import (
	"os"
	"runtime/trace"
	"time"
)

//export back
func back() { time.Sleep(time.Millisecond) }

func main() {
	if err := trace.Start(os.Stdout); err != nil {
		panic(err)
	}
	for range 5 {
		C.call()
	}
	trace.Stop()
}
`

// calledFromC returns the trace of cProgram.
func calledFromC(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(cProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		testutil.Lacks(t, "CGO", err.Error())
	}
	c := exec.CommandContext(t.Context(), "go", "run", file)
	c.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=")
	var said bytes.Buffer
	c.Stderr = &said
	text, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	return text
}

type goChange struct{ from, to xtrace.GoState }

// told holds the events of a recording for each change.
var told = map[goChange][]replaytrace.EventKind{
	{xtrace.GoUndetermined, xtrace.GoRunning}:  {replaytrace.EvExists},
	{xtrace.GoUndetermined, xtrace.GoRunnable}: {replaytrace.EvExists},
	{xtrace.GoUndetermined, xtrace.GoWaiting}:  {replaytrace.EvExists},
	{xtrace.GoUndetermined, xtrace.GoSyscall}:  {replaytrace.EvExists},
	{xtrace.GoNotExist, xtrace.GoRunnable}:     {replaytrace.EvCreate},
	{xtrace.GoNotExist, xtrace.GoWaiting}:      {replaytrace.EvCreate, replaytrace.EvWait},
	{xtrace.GoNotExist, xtrace.GoSyscall}:      {replaytrace.EvExists},
	{xtrace.GoRunnable, xtrace.GoRunning}:      {replaytrace.EvStart},
	{xtrace.GoRunning, xtrace.GoRunnable}:      {replaytrace.EvYield},
	{xtrace.GoRunning, xtrace.GoWaiting}:       {replaytrace.EvWait},
	{xtrace.GoRunning, xtrace.GoSyscall}:       {replaytrace.EvSyscall},
	{xtrace.GoRunning, xtrace.GoNotExist}:      {replaytrace.EvEnd},
	{xtrace.GoWaiting, xtrace.GoRunnable}:      {replaytrace.EvReady},
	{xtrace.GoSyscall, xtrace.GoRunning}:       {replaytrace.EvReturn},
	{xtrace.GoSyscall, xtrace.GoRunnable}:      {replaytrace.EvReady},
	{xtrace.GoSyscall, xtrace.GoNotExist}:      {replaytrace.EvEnd},
}

// changesIn checks what the reader takes each change of a trace for, and returns the changes.
func changesIn(t *testing.T, text []byte) map[goChange]bool {
	t.Helper()
	events, err := xtrace.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	reader, seen := replaytrace.NewTracer(), map[goChange]bool{}
	for {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			return seen
		}
		if err != nil {
			t.Fatal(err)
		}
		before := 0
		if reader.B != nil {
			before = len(reader.B.R.Events)
		}
		if reader.Event(&e); reader.Err != nil {
			t.Fatal(reader.Err)
		}
		if e.Kind() != xtrace.EventStateTransition || e.StateTransition().Resource.Kind != xtrace.ResourceGoroutine {
			continue
		}
		var kinds []replaytrace.EventKind
		for _, x := range reader.B.R.Events[before:] {
			kinds = append(kinds, x.Kind)
		}
		s := e.StateTransition()
		from, to := s.Goroutine()
		if c := (goChange{from, to}); from != to {
			seen[c] = true
			if want, known := told[c]; !known || !cmp.Equal(kinds, want) {
				t.Errorf("%v to %v: events %v, want %v", from, to, kinds, want)
			}
		}
	}
}

func TestTransitions(t *testing.T) {
	for name, tt := range map[string]struct {
		text func(t *testing.T) []byte
		want []goChange
	}{
		"coroutines": {
			func(t *testing.T) []byte { return traceDuring(t, func() { pulled(3, time.Millisecond) }) },
			[]goChange{{xtrace.GoNotExist, xtrace.GoWaiting}, {xtrace.GoWaiting, xtrace.GoRunnable}, {xtrace.GoRunnable, xtrace.GoRunning}, {xtrace.GoRunning, xtrace.GoNotExist}},
		},
		"goroutines, system calls and collections": {
			func(t *testing.T) []byte { return traceDuring(t, func() { collected(t) }) },
			[]goChange{
				{xtrace.GoUndetermined, xtrace.GoRunning},
				{xtrace.GoUndetermined, xtrace.GoWaiting},
				{xtrace.GoNotExist, xtrace.GoRunnable},
				{xtrace.GoRunning, xtrace.GoRunnable},
				{xtrace.GoRunning, xtrace.GoWaiting},
				{xtrace.GoRunning, xtrace.GoSyscall},
				{xtrace.GoSyscall, xtrace.GoRunnable},
				{xtrace.GoRunning, xtrace.GoNotExist},
			},
		},
		"callbacks of C": {
			calledFromC,
			[]goChange{{xtrace.GoNotExist, xtrace.GoSyscall}, {xtrace.GoSyscall, xtrace.GoNotExist}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := changesIn(t, tt.text(t))
			for _, c := range tt.want {
				if !seen[c] {
					t.Errorf("no change from %v to %v in the trace", c.from, c.to)
				}
			}
		})
	}
}

// The changes are these, and any other one is an error: an answer from what is left would be wrong.
func TestKnownTransitions(t *testing.T) {
	known := 0
	for from := range replaytrace.Transitions {
		for to, kinds := range replaytrace.Transitions[from] {
			if kinds != nil {
				known++
			}
			if want := told[goChange{xtrace.GoState(from), xtrace.GoState(to)}]; !cmp.Equal(kinds, want) {
				t.Errorf("%v to %v: events %v, want %v", xtrace.GoState(from), xtrace.GoState(to), kinds, want)
			}
		}
	}
	if known != len(told) {
		t.Errorf("%d changes, want %d", known, len(told))
	}
}

// answersOf returns what a study of the least number of windows says.
func answersOf(t *testing.T, rec *replaytrace.Recording, speedups ...float64) []Answer {
	t.Helper()
	s, err := NewStudy(StudyConfig{Speedups: speedups})
	if err != nil {
		t.Fatal(err)
	}
	for w := range rec.Windows(doubt.LeastWindows) {
		if err := s.Add(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	return s.Result().Answers
}

// answersFor returns by which part requests would come sooner, whose rows are read so and then
// rendered.
func answersFor(t *testing.T, read func()) map[string]float64 {
	t.Helper()
	p := stockProgram{}
	rec := p.recorded(t, func() {
		for range 125 {
			request := p.begin("request")
			rows := p.begin("read rows")
			read()
			p.end(rows)
			p.span("render", 4*time.Millisecond)
			p.end(request)
		}
	})
	answers := map[string]float64{}
	for _, a := range answersOf(t, rec, 0.25, 0.5) {
		if a.Point == "request" && a.Metric == Throughput && a.Withheld == WithheldNone {
			answers[fmt.Sprintf("%s %v", a.Region.Name, a.Speedup)] = a.Reduction
		}
	}
	return answers
}

// A loop has no coroutine, and the same sleeps: what would be faster helps it as much. Of three
// tries one must show it, since the machine may take time from one of the two programs.
func TestPulledIterator(t *testing.T) {
	slow(t, "records programs for seconds")
	const tries = 3
	for try := 1; ; try++ {
		want := answersFor(t, func() {
			for range 3 {
				time.Sleep(2 * time.Millisecond)
			}
		})
		got := answersFor(t, func() { pulled(3, 2*time.Millisecond) })
		diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.06))
		if diff == "" && len(want) == 6 {
			return
		}
		if try == tries {
			t.Fatalf("%d answers, want 6; for a loop -, for iter.Pull +: %s", len(want), diff)
		}
		t.Logf("try %d: %d answers, %s", try, len(want), diff)
	}
}

func (p *stockProgram) begin(name string) uint64 {
	id := p.ids.Add(1)
	mark.LogStart("shop", mark.Span{ID: id, SpanID: id, Name: name})
	return id
}

func (p *stockProgram) end(id uint64) { mark.LogEnd("shop", id, "") }

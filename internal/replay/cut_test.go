package replay

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/replay/infer"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// generations returns a trace of several ones, and where in it each of them ends, as Go's
// trace.Stop and FlightRecorder write it.
func generations(t *testing.T) (text []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	p := stockProgram{}
	for end := time.Now().Add(2200 * time.Millisecond); time.Now().Before(end); { // one each second
		p.span("request", 5*time.Millisecond)
	}
	trace.Stop()
	return b.Bytes()
}

func TestReadCutTrace(t *testing.T) {
	text := generations(t)
	whole, err := replaytrace.Read(bytes.NewReader(text))
	if err != nil || whole.Cut != nil {
		t.Fatal(err, whole.Cut)
	}
	visits := Visits(whole)
	check := func(what string, damaged []byte) (used bool) {
		rec, err := replaytrace.Read(bytes.NewReader(damaged))
		switch {
		case err != nil:
			if !errors.Is(err, replaytrace.ErrTrace) {
				t.Errorf("%s: %v, want ErrTrace", what, err)
			}
			return false
		case rec.Cut == nil: // what is damaged is a number or a name
			return false
		case !errors.Is(rec.Cut, replaytrace.ErrTrace) || !strings.Contains(rec.Cut.Error(), "whole generations"):
			t.Errorf("%s: cut %v, want the number of generations", what, rec.Cut)
		}
		if rec.End > whole.End || Visits(rec) > visits {
			t.Errorf("%s: %d visits until %d, want at most %d until %d", what, Visits(rec), rec.End, visits, whole.End)
		}
		for w := range rec.Windows(3) {
			infer.NewProgram(w, true)
		}
		return true
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range thorough.Of(60, 20) {
		n := r.IntN(len(text))
		check("cut", text[:n])
		flipped := bytes.Clone(text)
		flipped[n] ^= 1 << r.IntN(8)
		check("flipped", flipped)
		garbage := bytes.Clone(text)
		for i := n; i < min(n+100, len(garbage)); i++ {
			garbage[i] = byte(r.Uint32())
		}
		check("garbage", garbage)
	}
	if !check("last byte", text[:len(text)-1]) {
		t.Error("a trace without its last byte is not used")
	}
	rec, err := replaytrace.Read(io.LimitReader(bytes.NewReader(text), int64(len(text)-1)))
	if err != nil || Visits(rec) < 150 {
		t.Errorf("%d visits, %v, want those of two seconds", Visits(rec), err)
	}
	check("tail of zeros", append(bytes.Clone(text), make([]byte, 1000)...))
}

// TestReadLongTrace reads a trace of more events than there is room for: what there is room for is
// a recording, as goroutines that yield in a loop make millions in a second.
func TestReadLongTrace(t *testing.T) {
	slow(t, "six million events")
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	var yielding sync.WaitGroup
	for range 2 {
		yielding.Go(func() {
			for range 1_500_000 {
				runtime.Gosched()
			}
		})
	}
	yielding.Wait()
	trace.Stop()
	rec, err := replaytrace.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Cut == nil || !strings.Contains(rec.Cut.Error(), "left out") || len(rec.Events) != 4<<20 || rec.End != rec.Events[len(rec.Events)-1].At {
		t.Errorf("%d events until %d, cut %v, want 4 Mi, the recording's end at the last, and why", len(rec.Events), rec.End, rec.Cut)
	}
}

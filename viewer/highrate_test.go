package viewer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/stacks/highrate"
	"github.com/otelprof/otelprof/internal/testutil"
)

// The process is sampled for real while a goroutine computes.
func TestHighRateStacks(t *testing.T) {
	p, err := highrate.NewProfiler()
	if err != nil {
		testutil.Lacks(t, "SAMPLES", err.Error())
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	h, _ := stacksHandler(t)
	checkEqual(t, "before", errorOf(t, ask(t, h, "GET", "/api/v1/stacks/highrate", ""), 404), "stacks/highrate: none were taken yet: POST takes some")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	got := decode[stacksAnswer](t, ask(t, h, "POST", "/api/v1/stacks/highrate?seconds=1", ""), 200)
	close(stop)
	<-stopped
	if n, most := got.Tree.Samples, time.Duration(got.CPUNs)/time.Millisecond; n == 0 || n < int64(most)/5 { // others may have the processors
		t.Errorf("%d samples in %d ms of computing, want about as many", n, most)
	}
	if len(got.Regions) != 1 || got.CPUNs == 0 {
		t.Errorf("regions %v, %d ns of CPU, want one tree and its time", got.Regions, got.CPUNs)
	}
	checkEqual(t, "rate", got.Hz, 1000)
	kept := decode[stacksAnswer](t, ask(t, h, "GET", "/api/v1/stacks/highrate?lines=1", ""), 200)
	checkEqual(t, "samples that were kept", kept.Tree.Samples, got.Tree.Samples)
	if a := ask(t, h, "GET", "/api/v1/stacks/highrate?format=folded", ""); a.code != 200 || !strings.Contains(a.body, ";") {
		t.Errorf("as a file: %d %.200s", a.code, a.body)
	}
}

func TestHighRateStacksRefuses(t *testing.T) {
	h, _ := stacksHandler(t)
	for query, want := range map[string]string{
		"seconds=0":  `seconds "0": must be an integer in [1, 20]`,
		"seconds=21": `seconds "21": must be an integer in [1, 20]`,
		"format=png": `format "png": must be one of [json pprof speedscope folded svg]`,
	} {
		checkEqual(t, query, errorOf(t, ask(t, h, "POST", "/api/v1/stacks/highrate?"+query, ""), 400), want)
	}
	h.sampling.Lock()
	defer h.sampling.Unlock()
	errorOf(t, ask(t, h, "POST", "/api/v1/stacks/highrate", ""), 409)
}

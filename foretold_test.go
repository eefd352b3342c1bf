package otelprof

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/explain/foretold"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// Where a record cannot be written, the next one and that at the end still are.
func TestForetoldAfterAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	synctest.Test(t, func(t *testing.T) {
		region := profile.Region{Scope: "shop", Name: "price"}
		f := &foreteller{
			file: filepath.Join(dir, foretold.FileName), service: "shop", version: "1", began: time.Now(),
			regions: func() []spans.RegionStats { return nil },
			profile: func() profile.Profile {
				return profile.Profile{Curves: []profile.Curve{{
					Region: region, Progress: "order", Metric: profile.MetricThroughput,
					Effects: []profile.Effect{{Speedup: 0.1, Reduction: 0.09, Lo: 0.08, Hi: 0.1, Samples: 9}},
				}}}
			},
		}
		var said testutil.Log
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.run(ctx, said.Logger())
		}()
		time.Sleep(foretoldFirst + time.Second)
		if lines := said.Lines(); len(lines) != 1 || !strings.Contains(lines[0], "not written") {
			t.Errorf("said %q, want that nothing was written", lines)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * foretoldFirst)
		cancel()
		<-ended
		if records, err := foretold.Read(f.file, "shop"); err != nil || len(records) != 2 {
			t.Errorf("%d records, %v, want one written later and one at the end", len(records), err)
		}
	})
}

// A version keeps what was foretold of it in its data folder, and the next one shows what came.
func TestForetold(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, foretold.FileName)
	run := func(version string, during func(p *Profiler)) {
		t.Helper()
		p, _ := setup(t, WithServiceName("shop"), WithDataDir(dir), WithViewer("127.0.0.1:0"), WithResource(resource.NewSchemaless(attribute.String("service.version", version))))
		tracer := p.TracerProvider().Tracer("shop")
		var mu sync.Mutex
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					ctx, root := tracer.Start(context.Background(), "request")
					mu.Lock()
					_, s := tracer.Start(ctx, "locked")
					time.Sleep(time.Millisecond)
					s.End()
					mu.Unlock()
					root.End()
				}
			})
		}
		during(p)
		close(stop)
		wg.Wait()
		if err := p.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
	}
	run("1", func(p *Profiler) {
		if !testutil.Eventually(func() bool {
			_ = p.Causal().Record(t.Context(), 300*time.Millisecond)
			return len(foretold.CurvesOf(p.Causal().Profile())) > 0
		}) {
			t.Fatal("nothing is foretold")
		}
	})
	records, err := foretold.Read(file, "shop")
	if err != nil || len(records) != 1 || records[0].Version != "1" || len(records[0].Curves) == 0 {
		t.Fatalf("records %+v, %v; want one of version 1", records, err)
	}
	// The first version as it would be after a minute, with a span that took twice as long.
	old := records[0]
	for i := range old.Regions {
		if m := &old.Regions[i]; m.Region.Name == "locked" {
			m.Self *= 2
		}
	}
	old.Version, old.Lasted = "0", time.Minute
	if err := foretold.Append(file, old); err != nil {
		t.Fatal(err)
	}
	run("2", func(p *Profiler) {
		p.foretold.began = time.Now().Add(-time.Minute) // as if it had run for so long
		time.Sleep(500 * time.Millisecond)
		r, err := http.Get(p.ViewerURL() + "api/v1/causal/outcomes")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Outcomes []profile.Outcome }
		if err := json.Unmarshal(text, &answer); err != nil || len(answer.Outcomes) == 0 || answer.Outcomes[0].To != "2" || answer.Outcomes[0].Region.Name != "locked" {
			t.Errorf("outcomes %s, %v; want those of version 2, by the region that became faster", text, err)
		}
	})
}

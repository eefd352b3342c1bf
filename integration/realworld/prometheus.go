package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal/profile"
	backends "github.com/otelprof/otelprof/integration/backends/programs"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/integration/internal/ports"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
)

// A prometheus keeps what the processes of a program have counted, and otelprof report answers from
// it alone.
type prometheus struct {
	url       string
	tool      string
	cmd       *exec.Cmd
	data      string
	providers []*sdkmetric.MeterProvider
}

const (
	// exportEach is the time between two exports of a process.
	exportEach = 2 * time.Second
	// mostApart is how far the processes' own answers and those of their metrics may be apart,
	// points.
	mostApart = 0.5
)

// startPrometheus starts a server, and has the metrics of each process exported to it: as a process
// does itself that has a reader.
func (l lab) startPrometheus(ctx context.Context, s *process) (_ *prometheus, err error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort("127.0.0.1", free[0])
	p := &prometheus{url: "http://" + address}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	if p.tool, err = buildTool(ctx, l.root, l.tools); err != nil {
		return nil, err
	}
	source := filepath.Join(l.root, "integration", "backends")
	server := backends.Prometheus()
	if err := server.Build(ctx, source, filepath.Join(l.root, ".tools"), io.Discard); err != nil {
		return nil, err
	}
	path, err := server.Path(source, filepath.Join(l.root, ".tools"))
	if err != nil {
		return nil, err
	}
	if p.data, err = os.MkdirTemp("", "prometheus"); err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, path, append(backends.PrometheusFlags,
		"--config.file="+filepath.Join(l.root, "collector-config", "prometheus.yml"), "--storage.tsdb.path="+p.data, "--web.listen-address="+address, "--log.level=error")...)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := p.ready(ctx); err != nil {
		return nil, err
	}
	return p, p.export(ctx, s)
}

func (p *prometheus) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, started)
	defer cancel()
	for {
		if _, err := fetch.Do(ctx, http.DefaultClient, http.MethodGet, p.url+"/-/ready", http.NoBody); err == nil {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("prometheus: not ready in %v: %w", started, err)
		}
	}
}

// export exports what each process has counted, from now on.
func (p *prometheus) export(ctx context.Context, s *process) error {
	for _, m := range s.members {
		exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(p.url+"/api/v1/otlp/v1/metrics"))
		if err != nil {
			return err
		}
		var mu sync.Mutex
		var last profile.Profile
		counted := func() profile.Profile {
			text, err := s.askOne(context.WithoutCancel(ctx), m, http.MethodGet, "/profile", nil)
			mu.Lock()
			defer mu.Unlock()
			if now, err2 := profile.Read(bytes.NewReader(text)); errors.Join(err, err2) == nil {
				last = now
			}
			return last
		}
		reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(exportEach), sdkmetric.WithProducer(profile.NewProducer(counted)))
		p.providers = append(p.providers, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(resource.NewSchemaless(
			attribute.String("service.name", m.service), attribute.String("service.instance.id", m.service)))))
	}
	return nil
}

// report is what otelprof report writes from the metrics alone, after one more export of all.
func (p *prometheus) report(ctx context.Context) (profile.Profile, error) {
	for _, provider := range p.providers {
		if err := provider.ForceFlush(ctx); err != nil {
			return profile.Profile{}, err
		}
	}
	cmd := exec.CommandContext(ctx, p.tool, "report", "-format", "json", "-prometheus", p.url)
	out, err := cmd.Output()
	if err != nil {
		return profile.Profile{}, fmt.Errorf("otelprof report -prometheus: %w", describe(err))
	}
	return profile.Read(bytes.NewReader(out))
}

// agrees prints the processes' own answers at the smallest speed-up beside those of their metrics,
// and returns which differ by more than mostApart.
func (p *prometheus) agrees(ctx context.Context, out io.Writer, s *process, limits string, own profile.Profile, speedup float64) error {
	metrics, err := p.report(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range s.regions {
		q := answers.Question{Mode: profile.ModeSlowdown, Region: r.span, Progress: s.progress, Metric: profile.MetricThroughput, Speedup: speedup}
		a, b := answers.Effect(own, q), answers.Effect(metrics, q)
		if !a.Known() || !b.Known() {
			fmt.Fprintf(out, "prometheus %s limits=%s region=%s own=%q metrics=%q\n", s.name, limits, word(r.span), a.Withheld, b.Withheld)
			// Metrics count stretches of time in place of rounds: five of these may be four of the
			// others.
			few := a.Withheld.Code == withheldcode.Iterations || b.Withheld.Code == withheldcode.Iterations
			if a.Known() != b.Known() && !few {
				errs = append(errs, fmt.Errorf("%w: %s, limits %s: metrics and the processes must both answer, or neither, but for too few iterations", errClaim, r.span, limits))
			}
			continue
		}
		apart := 100 * math.Abs(a.Reduction-b.Reduction)
		fmt.Fprintf(out, "prometheus %s limits=%s region=%s speedup=%.2f own=%.2f metrics=%.2f apart=%.2f\n", s.name, limits, word(r.span), speedup, 100*a.Reduction, 100*b.Reduction, apart)
		if apart > mostApart {
			errs = append(errs, fmt.Errorf("%w: %s, limits %s: metrics are %.2f points off the processes' own answer, must be %.1f at most", errClaim, r.span, limits, apart, mostApart))
		}
	}
	return errors.Join(errs...)
}

// stop ends the server and the exports.
func (p *prometheus) stop() error {
	var errs []error
	for _, provider := range p.providers {
		ctx, cancel := context.WithTimeout(context.Background(), exportEach)
		errs = append(errs, provider.Shutdown(ctx))
		cancel()
	}
	if p.cmd != nil && p.cmd.Process != nil {
		errs = append(errs, p.cmd.Process.Kill())
		_ = p.cmd.Wait() // it was killed
	}
	if p.data != "" {
		errs = append(errs, os.RemoveAll(p.data))
	}
	return errors.Join(errs...)
}

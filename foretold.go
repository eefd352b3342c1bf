package otelprof

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/explain/foretold"
	"github.com/otelprof/otelprof/spans"
)

// foretoldFirst is when the first record of what is foretold is written; each further one comes
// after twice the time, and the last at shutdown.
const foretoldFirst = 5 * time.Minute

// A foreteller keeps what is foretold of this version, and what came of what was foretold of the
// ones before.
type foreteller struct {
	file, service, version string
	began                  time.Time
	before                 []foretold.Record // of other versions, and of this one by earlier processes
	regions                func() []spans.RegionStats
	profile                func() profile.Profile
}

// openForetold is for a service whose version is known, with a data folder.
func (p *Profiler) openForetold(ctx context.Context, c config) {
	version := versionOf(c)
	if c.dataDir == "" || version == "" {
		return
	}
	f := &foreteller{
		file: filepath.Join(c.dataDir, foretold.FileName), service: p.service, version: version, began: time.Now(),
		regions: p.tracers.Regions, profile: p.causal.Profile,
	}
	var err error
	if f.before, err = foretold.Read(f.file, f.service); err != nil {
		leftOut(c, "what was foretold", err)
	}
	p.foretold = f
	ctx, p.endForetold = context.WithCancel(context.WithoutCancel(ctx))
	p.foretelling.Go(func() { f.run(ctx, c.logger) })
}

// versionOf is service.version, or the revision that the program was built of; "" where neither is
// known, or the sources had been changed since.
func versionOf(c config) string {
	if version := text(c.resource, semconv.ServiceVersionKey); version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			return ""
		}
	}
	return revision
}

func (f *foreteller) run(ctx context.Context, logger *slog.Logger) {
	for wait := foretoldFirst; ; wait *= 2 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		if r := f.now(); len(r.Curves) > 0 {
			if err := foretold.Append(f.file, r); err != nil {
				logger.Warn("otelprof: what is foretold: not written", slog.Any("cause", err)) // the next one may be
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// now is what this version does, and what is foretold of it.
func (f *foreteller) now() foretold.Record {
	r := foretold.Record{Service: f.service, Version: f.version, Time: time.Now().UTC(), Lasted: time.Since(f.began)}
	for _, s := range f.regions() {
		if s.Count == 0 {
			continue
		}
		m := foretold.Measured{
			Region: profile.Region{Scope: s.Scope.Name, Name: s.Name}, Count: s.Count,
			Mean: float64(s.Total) / float64(s.Count), Self: float64(s.Self) / float64(s.Count),
		}
		if s.Durations != nil && s.Durations.Count() > 0 {
			at := s.Durations.Percentiles([]float64{50, 90, 99}, nil)
			m.P50, m.P90, m.P99 = float64(at[0]), float64(at[1]), float64(at[2])
		}
		r.Regions = append(r.Regions, m)
	}
	r.Curves = foretold.CurvesOf(f.profile())
	return r
}

// outcomes are those of all versions that are known, the last first.
func (f *foreteller) outcomes() []profile.Outcome { return foretold.Outcomes(f.before, f.now()) }

// shutForetold writes the last record, while the controller still has its profile.
func (p *Profiler) shutForetold(context.Context) error {
	if p.endForetold != nil {
		p.endForetold()
		p.foretelling.Wait()
	}
	return nil
}

package otelprof

import (
	"context"
	"time"

	"github.com/google/pprof/profile"

	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
)

const (
	// profilePeriod is the time that one exported profile is about.
	profilePeriod = 30 * time.Second
	// lastProfile is how long each of the last ones may take, which are about less, to be made and
	// exported.
	lastProfile = time.Second
)

// profilesFromEnv is the pipeline for them, not enabled where there is nothing to send.
func (c *config) profilesFromEnv() otlp.Pipeline {
	if !c.stacks && !c.schedule {
		return otlp.Pipeline{}
	}
	pipeline, err := otlp.ProfilesFromEnv()
	if err != nil {
		leftOut(*c, "profiles", err)
	}
	return pipeline
}

// openProfiles sends what stacks and schedule have, if the environment asks for it.
func (p *Profiler) openProfiles(ctx context.Context, c config) {
	if !c.profiles.Enabled {
		return
	}
	e, err := otlp.NewProfileExporter(c.profiles, c.resource, c.logger)
	if err != nil {
		leftOut(c, "profiles", err)
		return
	}
	p.exports = append(p.exports, e.Stats)
	p.release = append(p.release, e.Shutdown)
	s := &profileSender{schedule: p.schedule, export: e.Export}
	if c.stacks { // else it is there for labels alone
		s.stacks = p.stacks
	}
	ctx, p.endProfiles = context.WithCancel(context.WithoutCancel(ctx))
	p.profiles.Go(func() { s.run(ctx) })
}

// A profileSender sends one profile of each kind after the other. The exporter logs and counts
// failures.
type profileSender struct {
	stacks   *stacks.Profiler   // may be nil
	schedule *schedule.Recorder // may be nil
	export   func(context.Context, *profile.Profile) error
}

// run sends until ctx ends, and then what there is of the last ones.
func (s *profileSender) run(ctx context.Context) {
	for ctx.Err() == nil {
		if cpu := s.sample(ctx); cpu != nil {
			untilLast(ctx, func(ctx context.Context) { _ = s.export(ctx, cpu) })
		}
		if s.schedule != nil && s.schedule.Recording() {
			untilLast(ctx, s.exportWaits)
		}
	}
}

func (s *profileSender) exportWaits(ctx context.Context) {
	if waits, err := s.schedule.OffCPU(ctx); err == nil {
		_ = s.export(ctx, waits)
	}
}

// untilLast calls f with a context that lives for [lastProfile] longer than ctx: what is under way
// is finished, and none uses up the time of another.
func untilLast(ctx context.Context, f func(context.Context)) {
	if ctx.Err() != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastProfile)
		defer cancel()
		f(last)
		return
	}
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastProfile, cancel) })()
	f(last)
}

// sample takes a period, and returns nil while other code in the process holds the CPU profile.
func (s *profileSender) sample(ctx context.Context) *profile.Profile {
	if s.stacks != nil {
		if cpu, _ := s.stacks.Profile(ctx, profilePeriod); cpu != nil {
			return cpu
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(profilePeriod):
	}
	return nil
}

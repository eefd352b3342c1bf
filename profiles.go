package otelprof

import (
	"bytes"
	"context"
	"time"

	"github.com/google/pprof/profile"

	"github.com/otelprof/otelprof/exporter/otlp"
	"github.com/otelprof/otelprof/spans/stacks"
)

// profilePeriod is the time that one exported profile is about.
const profilePeriod = 30 * time.Second

// sendProfiles sends one profile after the other until ctx ends. While somebody else has the CPU
// profile there is nothing to send.
func sendProfiles(ctx context.Context, p *stacks.Profiler, e *otlp.ProfileExporter) {
	for ctx.Err() == nil {
		var buf bytes.Buffer
		if err := p.Record(ctx, &buf, profilePeriod); err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(profilePeriod):
			}
			continue
		}
		if recorded, err := profile.Parse(&buf); err == nil {
			_ = e.Export(ctx, recorded) // its monitor says and counts what fails
		}
	}
}

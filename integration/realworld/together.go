package main

import (
	"bytes"
	"context"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/noise"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/replayprofile"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// predictTogether has all processes recorded at the same time, and simulates them joined. It
// returns what predict does.
func (s *process) predictTogether(ctx context.Context, o settings) (p profile.Profile, text []byte, t *noise.Tally, err error) {
	if p, t, err = s.studyTogether(ctx, o, replay.StudyConfig{Speedups: o.speedups, Only: s.asks}); err != nil {
		return p, nil, t, err
	}
	text, err = asText(p)
	return p, text, t, err
}

// studyTogether asks joined recordings, as many as predict takes, and twice as long: what several
// processes do for a request takes longer.
func (s *process) studyTogether(ctx context.Context, o settings, c replay.StudyConfig) (p profile.Profile, t *noise.Tally, err error) {
	study, err := replay.NewStudy(c)
	if err != nil {
		return p, nil, err
	}
	t = &noise.Tally{}
	var result replay.Result
	for i := 0; i < o.windows || i < 2*o.windows && !result.Enough(); i++ {
		var texts [][]byte
		if err := s.undisturbed(t, func() (err error) { texts, err = s.traces(ctx, 2*o.record); return err }); err != nil {
			return p, nil, err
		}
		rec, err := s.join(texts)
		if err != nil {
			return p, nil, err
		}
		if err := study.Add(ctx, rec); err != nil {
			return p, nil, err
		}
		result = study.Result()
	}
	return replayprofile.Of(result), t, nil
}

// asks reports whether a region is one of the program's.
func (s *process) asks(r trace.Region) bool {
	for _, known := range s.regions {
		if r.Name == known.span && r.Scope == known.scope {
			return true
		}
	}
	return false
}

// join puts traces of all processes together.
func (s *process) join(texts [][]byte) (*trace.Recording, error) {
	recs := make([]*trace.Recording, len(texts))
	for i, text := range texts {
		rec, err := trace.Read(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		recs[i] = rec
	}
	return trace.Join(s.services, recs)
}

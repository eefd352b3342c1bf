package causal

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/internal/testutil"
)

// An endless study rests as an analysis does, and ends with that only.
type endless struct {
	counted
	begun chan struct{}
}

func (s *endless) add(ctx context.Context, _ *record.Window) error {
	close(s.begun)
	w := rest.NewWorker(ctx)
	for {
		if err := w.DueOrOver(); err != nil {
			return err
		}
	}
}

// Shutdown waits for the analysis that goes on, which ends with it.
func TestShutdownDuringAnAnalysis(t *testing.T) {
	s := &endless{begun: make(chan struct{})}
	c, err := NewController(withStudy(s))
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(chan error, 1)
	go func() { recorded <- c.Record(context.Background(), MinWindow) }()
	select {
	case <-s.begun:
	case err := <-recorded:
		if errors.Is(err, ErrTraced) {
			testutil.Lacks(t, "TRACE", err.Error())
		}
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-recorded; !errors.Is(err, ErrRecording) {
		t.Errorf("Record = %v, want ErrRecording", err)
	}
}

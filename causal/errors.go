package causal

import (
	"errors"

	"github.com/otelprof/otelprof/causal/internal/record"
)

var (
	// ErrConfig is returned for an option that is out of its range.
	ErrConfig = errors.New("causal: configuration")
	// ErrDisabled is returned by Apply if the application did not opt in to
	// experiments, or not to those of the plan, or a kill switch is set.
	ErrDisabled = errors.New("causal: experiments are off")
	// ErrGeneration is returned for a plan that is not newer than the last one.
	ErrGeneration = errors.New("causal: stale plan")
	// ErrEnded is returned for a plan that was aborted in this process before or has spent its
	// limits, and for a document from outside whose plan has ended before.
	ErrEnded = errors.New("causal: plan that has ended")
	// ErrAudience is returned for a signed plan without the target or the generation that it must
	// have.
	ErrAudience = errors.New("causal: signed plan")
	// ErrRestart is returned for a plan that is older than the process and does not say "restart:
	// true".
	ErrRestart = errors.New("causal: plan from before this process")
	// ErrRecording is returned if the program could not be recorded.
	ErrRecording = errors.New("causal: recording")
	// ErrTraced is returned while the program has a flight recorder of its own on: the process can
	// have only one.
	ErrTraced = record.ErrTraced
)

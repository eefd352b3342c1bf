package causal

import (
	"errors"

	"github.com/otelprof/otelprof/causal/internal/record"
)

var (
	// ErrConfig is returned for an option that is out of its range.
	ErrConfig = errors.New("causal: configuration")
	// ErrPlan is returned for a plan document that is not valid.
	ErrPlan = errors.New("causal: plan")
	// ErrProfile is returned for a saved profile that is not valid.
	ErrProfile = errors.New("causal: profile")
	// ErrDisabled is returned by Apply if the application did not opt in to
	// experiments, or a kill switch is set.
	ErrDisabled = errors.New("causal: experiments are off")
	// ErrGeneration is returned for a plan that is not newer than the last one.
	ErrGeneration = errors.New("causal: stale plan")
	// ErrRecording is returned if the program could not be recorded.
	ErrRecording = errors.New("causal: recording")
	// ErrTraced is returned while others take an execution trace of the process, which can have
	// only one.
	ErrTraced = record.ErrTraced
	// ErrLatched is returned for a plan that was aborted before.
	ErrLatched = errors.New("causal: aborted plan")
)

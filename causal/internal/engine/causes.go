package engine

import "github.com/otelprof/otelprof/causal/internal/engine/admission"

// RuleError is why a rule ended a run.
type RuleError admission.Rule

func (e RuleError) Error() string { return admission.Rule(e).String() }

// OpenedError is why the breaker ended a run.
type OpenedError string

func (e OpenedError) Error() string { return string(e) }

package causal

import (
	"errors"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/admission"
)

// outcome returns the state that a cause leaves a controller in, and the reason.
func outcome(cause error) (State, string) {
	var (
		byRule    engine.RuleError
		byBreaker engine.OpenedError
		futile    engine.FutileError
	)
	switch {
	case errors.As(cause, &byBreaker):
		return StateAborted, byBreaker.Error()
	case errors.As(cause, &futile):
		return StateWithheld, futile.Error()
	case errors.As(cause, &byRule) && admission.Rule(byRule) == admission.RuleTotal:
		return StateSpent, "limits.total is used up"
	case errors.As(cause, &byRule) && admission.Rule(byRule) == admission.RuleLease:
		return StateStopped, "the plan's source has not answered for the time of three polls"
	case errors.As(cause, &byRule) && admission.Rule(byRule) == admission.RuleLife:
		return StateExpired, "the longest life that the program allows is over"
	case errors.As(cause, &byRule):
		return StateExpired, "expires_at is over"
	}
	return StateStopped, cause.Error()
}

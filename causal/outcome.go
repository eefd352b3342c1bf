package causal

import "errors"

// ruleError is why a rule ended a run.
type ruleError rule

func (e ruleError) Error() string { return ruleNames[e] }

// openedError is why the breaker ended a run.
type openedError string

func (e openedError) Error() string { return string(e) }

// outcome tells the state that a cause leaves a controller in, and the reason.
func outcome(cause error) (State, string) {
	var (
		byRule    ruleError
		byBreaker openedError
		futile    futileError
	)
	switch {
	case errors.As(cause, &byBreaker):
		return StateAborted, byBreaker.Error()
	case errors.As(cause, &futile):
		return StateWithheld, futile.Error()
	case errors.As(cause, &byRule) && rule(byRule) == ruleTotal:
		return StateSpent, "limits.total is used up"
	case errors.As(cause, &byRule) && rule(byRule) == ruleLease:
		return StateStopped, "the plan's source has not answered three times in a row"
	case errors.As(cause, &byRule) && rule(byRule) == ruleLife:
		return StateExpired, "the longest life that the program allows is over"
	case errors.As(cause, &byRule):
		return StateExpired, "expires_at is over"
	}
	return StateStopped, cause.Error()
}

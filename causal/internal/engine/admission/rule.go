package admission

// Rule is why a delay is not inserted.
type Rule int

// The rules.
const (
	RuleNone Rule = iota
	ruleEarly
	ruleExpired
	RuleLife
	RuleLease
	RuleTotal
	RulePerSpan
	RulePerTrace
	RuleDuty
	RuleDeadline
	RuleHealth
	RuleIdle
	numRules
)

var ruleNames = [numRules]string{"", "not_before", "expired", "allowed.life", "lease", "limits.total", "limits.per_span", "limits.per_trace", "limits.duty", "deadline", "health_check", "idle_connection"}

// String returns the name of what forbids a delay, "" for none.
func (r Rule) String() string { return ruleNames[r] }

// Fatal reports whether the rule ends the plan.
func (r Rule) Fatal() bool {
	return r == ruleExpired || r == RuleLife || r == RuleLease || r == RuleTotal
}

// distorts reports whether the rule makes what is being measured wrong, if it is often applied.
// Idle connections are held against the requests that came, not against delays.
func (r Rule) distorts() bool { return r != RuleNone && r != RuleHealth && r != RuleIdle }

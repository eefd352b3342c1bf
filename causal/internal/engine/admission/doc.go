// Package admission answers, before each single delay, whether it may be inserted: by the plan's
// window, its budgets in this process, in a trace and in any tenth of a second, and counts what it
// refuses, by rule.
package admission

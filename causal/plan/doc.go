// Package plan has the plans of causal experiments: which regions to examine, what counts as
// progress, when, and what it may cost at most.
//
// [Parse] reads a document, YAML or JSON, and is strict: what it does not understand is an error,
// with line, key, value and constraint. A [Plan] is immutable. A causal.Controller carries it out,
// within the smaller of its [Limits] and the program's.
package plan

package engine

import (
	"slices"
	"strings"

	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/spans"
)

// pathAttributes say what a request is for, where the span's name does not: otelhttp around a mux
// starts "GET".
var pathAttributes = []string{"url.path", "http.route", "http.target"}

// IsHealthCheck reports whether a span is a health check by its name, by patterns. If that has no
// path in it, its attributes tell, which spans that are not recording do not have.
func IsHealthCheck(patterns []string, r *spans.Span) bool {
	matches := func(name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return glob.Match(pattern, name) })
	}
	if matches(r.Name()) {
		return true
	}
	if strings.Contains(r.Name(), "/") {
		return false
	}
	for _, kv := range r.Attributes() {
		if slices.Contains(pathAttributes, string(kv.Key)) && matches(r.Name()+" "+kv.Value.AsString()) {
			return true
		}
	}
	return false
}

// exempts reports whether nothing may be delayed in a span: it is a health check, or below one.
func (run *Run) exempts(r *spans.Span) bool {
	if m := requests.MembershipOf(r); m != nil && m.Exempt {
		return true
	}
	for ; r != nil; r = r.Parent() {
		if run.Verdict(r).Exempt {
			return true
		}
	}
	return false
}

// ExemptsBelow reports whether nothing below a span may be delayed, by the plan, which remembers.
func (run *Run) ExemptsBelow(r *spans.Span) bool { return run.Verdict(r).Exempt }

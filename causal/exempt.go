package causal

import (
	"slices"
	"strings"

	"github.com/otelprof/otelprof/causal/internal/requests"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/spans"
)

// pathAttributes say what a request is for, where the span's name does not: otelhttp around a mux starts "GET".
var pathAttributes = []string{"url.path", "http.route", "http.target"}

// exempts reports whether a span is a health check by its name. If that has no path in it, its attributes tell, which spans
// that are not recording do not have.
func (c *config) exempts(r *spans.Span) bool {
	if c.healthCheck(r.Name()) {
		return true
	}
	if strings.Contains(r.Name(), "/") {
		return false
	}
	for _, kv := range r.Attributes() {
		if slices.Contains(pathAttributes, string(kv.Key)) && c.healthCheck(r.Name()+" "+kv.Value.AsString()) {
			return true
		}
	}
	return false
}

func (c *config) healthCheck(name string) bool {
	return slices.ContainsFunc(c.exempt, func(pattern string) bool { return glob.Match(pattern, name) })
}

// exempts reports whether nothing may be delayed in a span: it is a health check, or below one.
func (run *run) exempts(r *spans.Span) bool {
	if m := requests.MembershipOf(r); m != nil && m.Exempt {
		return true
	}
	for ; r != nil; r = r.Parent() {
		if run.verdict(r).exempt {
			return true
		}
	}
	return false
}

// exemptsNow reports whether nothing below a span that starts may be delayed. Of those below others, which are many, only the
// plan in force is asked, which remembers.
func (c *Controller) exemptsNow(r *spans.Span) bool {
	if r.Parent() == nil {
		return c.exempts(r)
	}
	run := c.run.Load()
	return run != nil && run.verdict(r).exempt
}

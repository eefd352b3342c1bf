package plan

import (
	"fmt"

	"github.com/otelprof/otelprof/internal/glob"
)

// Match reports whether the instrumentation scope and the span name match the pattern. One
// with Auto matches none: which regions it selects depends on the others.
func (p RegionPattern) Match(scope, span string) bool {
	return p.Auto == 0 && (p.Scope == "" || glob.Match(p.Scope, scope)) && (p.Span == "" || glob.Match(p.Span, span))
}

// String returns the pattern as "scope:span", or just the span; "auto 4" for one with Auto.
func (p RegionPattern) String() string {
	span := p.Span
	if p.Auto > 0 {
		span = fmt.Sprintf("auto %d", p.Auto)
	}
	if p.Scope == "" {
		return span
	}
	return p.Scope + ":" + span
}

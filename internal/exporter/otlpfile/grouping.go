package otlpfile

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// A grouping puts items of one resource, and of one scope, together, in the order in which
// they come. R and S are what OTLP keeps them in.
type grouping[R, S any] struct {
	newResource func(*resource.Resource) R
	newScope    func(R, instrumentation.Scope) S

	resources map[attribute.Distinct]R
	scopes    map[scopeKey]S
}

type scopeKey struct {
	resource attribute.Distinct
	scope    instrumentation.Scope
}

func newGrouping[R, S any](newResource func(*resource.Resource) R, newScope func(R, instrumentation.Scope) S) *grouping[R, S] {
	return &grouping[R, S]{newResource, newScope, map[attribute.Distinct]R{}, map[scopeKey]S{}}
}

func (g *grouping[R, S]) of(res *resource.Resource, scope instrumentation.Scope) S {
	key := scopeKey{res.Equivalent(), scope}
	s, ok := g.scopes[key]
	if ok {
		return s
	}
	r, ok := g.resources[key.resource]
	if !ok {
		r = g.newResource(res)
		g.resources[key.resource] = r
	}
	s = g.newScope(r, scope)
	g.scopes[key] = s
	return s
}

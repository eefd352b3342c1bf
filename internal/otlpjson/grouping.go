package otlpjson

import "go.opentelemetry.io/otel/sdk/instrumentation"

// A Grouping puts items of one resource, which has the key K, and of one scope together, in the
// order in which they come. R and S are what OTLP keeps them in.
type Grouping[K comparable, R, S any] struct {
	newScope func(R, instrumentation.Scope) S

	resources map[K]R
	scopes    map[scopeKey[K]]S
}

type scopeKey[K comparable] struct {
	resource K
	scope    instrumentation.Scope
}

// NewGrouping returns one that makes scopes so.
func NewGrouping[K comparable, R, S any](newScope func(R, instrumentation.Scope) S) *Grouping[K, R, S] {
	return &Grouping[K, R, S]{newScope, map[K]R{}, map[scopeKey[K]]S{}}
}

// Of returns where an item goes. NewResource is called for the first item of a resource.
func (g *Grouping[K, R, S]) Of(resource K, scope instrumentation.Scope, newResource func() R) S {
	key := scopeKey[K]{resource, scope}
	s, ok := g.scopes[key]
	if ok {
		return s
	}
	r, ok := g.resources[resource]
	if !ok {
		r = newResource()
		g.resources[resource] = r
	}
	s = g.newScope(r, scope)
	g.scopes[key] = s
	return s
}

package compat_test

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// node is an exported span without what differs from run to run: IDs, times and ports. It
// also lacks the number of children, the one thing that a span processor sees differently
// below a wrapped provider; the package documentation of spans says so.
type node struct {
	Name, Scope, Version string
	Kind                 string
	// Parent is "", "local" or "remote".
	Parent     string
	Sampled    bool
	Status     sdktrace.Status
	Attributes map[string]string
	Events     []event
	Links      []event
	// Took is the duration if both times were given by the program.
	Took     time.Duration
	Children []node
}

// event is an event; or a link, named after the span it leads to.
type event struct {
	Name       string
	Attributes map[string]string
}

// forest returns the exported spans as trees, roots and siblings in the order of their start.
func forest(stubs tracetest.SpanStubs) []node {
	spans := slices.Clone(stubs)
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name
	}
	var below func(parent trace.SpanID) []node
	below = func(parent trace.SpanID) []node {
		var nodes []node
		for _, s := range spans {
			p := s.Parent.SpanID()
			if _, exported := names[p]; !exported {
				p = trace.SpanID{}
			}
			if p == parent {
				n := newNode(s, names)
				n.Children = below(s.SpanContext.SpanID())
				nodes = append(nodes, n)
			}
		}
		return nodes
	}
	return below(trace.SpanID{})
}

func newNode(s tracetest.SpanStub, names map[trace.SpanID]string) node {
	n := node{
		Name:       s.Name,
		Scope:      s.InstrumentationScope.Name,
		Version:    s.InstrumentationScope.Version,
		Kind:       s.SpanKind.String(),
		Sampled:    s.SpanContext.IsSampled(),
		Status:     s.Status,
		Attributes: values(s.Attributes),
	}
	n.Status.Description = anonymous(n.Status.Description)
	switch {
	case s.Parent.IsRemote():
		n.Parent = "remote"
	case s.Parent.IsValid():
		n.Parent = "local"
	}
	if s.StartTime.Equal(auditStart) {
		n.Took = s.EndTime.Sub(s.StartTime)
	}
	for _, e := range s.Events {
		n.Events = append(n.Events, event{Name: e.Name, Attributes: values(e.Attributes)})
	}
	for _, l := range s.Links {
		n.Links = append(n.Links, event{Name: names[l.SpanContext.SpanID()], Attributes: values(l.Attributes)})
	}
	return n
}

func values(kv []attribute.KeyValue) map[string]string {
	m := map[string]string{}
	for _, a := range kv {
		key := string(a.Key)
		switch key {
		case "server.port", "client.port", "network.peer.port":
			m[key] = "port"
		default:
			m[key] = a.Value.Type().String() + " " + anonymous(a.Value.String())
		}
	}
	return m
}

var port = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func anonymous(s string) string { return port.ReplaceAllString(s, "127.0.0.1:port") }

// regionKey is what names a region.
type regionKey struct{ Scope, Name string }

// tally is what a region counts.
type tally struct{ Count, Errors uint64 }

// tallies counts exported spans as regions do.
func tallies(stubs tracetest.SpanStubs) map[regionKey]tally {
	m := map[regionKey]tally{}
	for _, s := range stubs {
		k := regionKey{s.InstrumentationScope.Name, s.Name}
		c := m[k]
		c.Count++
		if s.Status.Code.String() == "Error" {
			c.Errors++
		}
		m[k] = c
	}
	return m
}

// sortedNames returns the names of spans, for sets that have no order.
func sortedNames(stubs tracetest.SpanStubs) []string {
	names := make([]string, 0, len(stubs))
	for _, s := range stubs {
		names = append(names, s.InstrumentationScope.Name+"\x00"+s.Name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}

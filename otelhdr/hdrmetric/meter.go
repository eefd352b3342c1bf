package hdrmetric

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelprof/otelprof/otelhdr"
)

// A meter is a wrapped meter that makes histograms itself.
type meter struct {
	metric.Meter // the wrapped one

	provider *MeterProvider
	scope    instrumentation.Scope

	mu       sync.Mutex
	float64s map[instrumentID]*float64Histogram
	int64s   map[instrumentID]*int64Histogram
	streams  map[streamID]*stream
	names    map[string]streamID // the first stream of each name, for conflicts
	order    []*stream
}

// An instrumentID is what makes two requests ask for the same instrument.
type instrumentID struct{ name, description, unit string }

// A streamID is what makes two instruments feed the same stream. To compare two of them, names are
// in lower case.
type streamID struct {
	name, description, unit string
	integer                 bool
}

func (id streamID) lower() streamID {
	id.name = strings.ToLower(id.name)
	return id
}

func newMeter(p *MeterProvider, scope instrumentation.Scope, base metric.Meter) *meter {
	return &meter{
		Meter:    base,
		provider: p,
		scope:    scope,
		float64s: map[instrumentID]*float64Histogram{},
		int64s:   map[instrumentID]*int64Histogram{},
		streams:  map[streamID]*stream{},
		names:    map[string]streamID{},
	}
}

// Float64Histogram implements metric.Meter. As with the SDK, an instrument whose name is invalid
// comes with an error and works.
func (m *meter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	c := metric.NewFloat64HistogramConfig(opts...)
	id := instrumentID{name: name, description: c.Description(), unit: c.Unit()}
	m.mu.Lock()
	defer m.mu.Unlock()
	errBounds := validBounds(name, c.ExplicitBucketBoundaries())
	h := m.float64s[id]
	if h == nil {
		plan, ours := m.plan(id, allowedKeys(opts))
		if !ours {
			return m.Meter.Float64Histogram(name, opts...)
		}
		h = &float64Histogram{streams: m.open(plan, false, boundsOrNone(c.ExplicitBucketBoundaries(), errBounds))}
		m.float64s[id] = h
	}
	return h, errors.Join(errBounds, validName(name))
}

// Int64Histogram implements metric.Meter, as Float64Histogram does.
func (m *meter) Int64Histogram(name string, opts ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	c := metric.NewInt64HistogramConfig(opts...)
	id := instrumentID{name: name, description: c.Description(), unit: c.Unit()}
	m.mu.Lock()
	defer m.mu.Unlock()
	errBounds := validBounds(name, c.ExplicitBucketBoundaries())
	h := m.int64s[id]
	if h == nil {
		plan, ours := m.plan(id, allowedKeys(opts))
		if !ours {
			return m.Meter.Int64Histogram(name, opts...)
		}
		h = &int64Histogram{streams: m.open(plan, true, boundsOrNone(c.ExplicitBucketBoundaries(), errBounds))}
		m.int64s[id] = h
	}
	return h, errors.Join(errBounds, validName(name))
}

// plan returns the streams that the views make of an instrument, or false if one of them wants an
// aggregation that is not ours.
func (m *meter) plan(id instrumentID, allowed []attribute.Key) (plan []sdkmetric.Stream, ours bool) {
	instrument := sdkmetric.Instrument{
		Name:        id.name,
		Description: id.description,
		Unit:        id.unit,
		Kind:        sdkmetric.InstrumentKindHistogram,
		Scope:       m.scope,
	}
	matched := false
	for _, view := range m.provider.config.views {
		s, ok := view(instrument)
		if !ok {
			continue
		}
		matched = true
		switch s.Aggregation.(type) {
		case nil, sdkmetric.AggregationDefault, sdkmetric.AggregationBase2ExponentialHistogram:
			plan = append(plan, s)
		case sdkmetric.AggregationDrop:
		default:
			return nil, false
		}
	}
	if !matched {
		plan = []sdkmetric.Stream{{Name: id.name, Description: id.description, Unit: id.unit}}
	}
	if allowed != nil {
		for i := range plan {
			if plan[i].AttributeFilter == nil {
				plan[i].AttributeFilter = attribute.NewAllowKeysFilter(allowed...)
			}
		}
	}
	return plan, true
}

// open returns the streams of a plan, existing ones and new ones for the others. The caller holds
// mu.
func (m *meter) open(plan []sdkmetric.Stream, integer bool, bounds []float64) []*stream {
	var open []*stream
	for _, p := range plan {
		id := streamID{name: p.Name, description: p.Description, unit: p.Unit, integer: integer}
		m.reportConflict(id)
		s := m.streams[id.lower()]
		if s == nil {
			s = newStream(m.provider, p, integer, bounds)
			m.streams[id.lower()] = s
			m.order = append(m.order, s)
		}
		if !slices.Contains(open, s) {
			open = append(open, s)
		}
	}
	return open
}

// reportConflict reports id if it has the name of a stream that is another. It comes here once for
// each instrument. The caller holds mu.
func (m *meter) reportConflict(id streamID) {
	name := id.lower().name
	first, ok := m.names[name]
	if !ok {
		m.names[name] = id
		return
	}
	if id == first {
		return
	}
	otel.Handle(fmt.Errorf("otelhdr: histogram %v: must be as the first of this name, %v", id, first))
}

// String writes id for error messages.
func (id streamID) String() string {
	number := "float64"
	if id.integer {
		number = "int64"
	}
	return fmt.Sprintf("%q (%s, unit %q, description %q)", id.name, number, id.unit, id.description)
}

// all returns the streams in the order they were made.
func (m *meter) all() []*stream {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clip(m.order)
}

// allowedKeys returns the keys of the experimental option WithDefaultAttributes, and nil if it is
// not among opts.
func allowedKeys[T any](opts []T) []attribute.Key {
	var keys []attribute.Key
	for _, o := range opts {
		if d, ok := any(o).(interface{ AllowedKeys() []attribute.Key }); ok {
			keys = append(append([]attribute.Key{}, keys...), d.AllowedKeys()...)
		}
	}
	return keys
}

// maxNameLength is the limit of the OpenTelemetry specification.
const maxNameLength = 255

// validName returns an error that wraps the SDK's for instrument names.
func validName(name string) error {
	alpha := func(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
	other := func(c rune) bool { return '0' <= c && c <= '9' || strings.ContainsRune("_.-/", c) }
	must := ""
	for i, c := range name {
		switch {
		case i == 0 && !alpha(c):
			must = "must start with a letter"
		case !alpha(c) && !other(c) && must == "":
			must = "must only contain A-Z, a-z, 0-9, _, ., - and /"
		}
	}
	switch {
	case name == "":
		must = "must not be empty"
	case len(name) > maxNameLength:
		must = fmt.Sprintf("must have at most %d characters", maxNameLength)
	}
	if must == "" {
		return nil
	}
	return fmt.Errorf("otelhdr: instrument name %q: %s: %w", name, must, sdkmetric.ErrInstrumentName)
}

// validBounds checks the advice for explicit boundaries.
func validBounds(name string, bounds []float64) error {
	for i, b := range bounds {
		if math.IsNaN(b) || i > 0 && b <= bounds[i-1] {
			return fmt.Errorf("%w: instrument %q: bucket boundaries %v: must ascend", otelhdr.ErrConfig, name, bounds)
		}
	}
	return nil
}

func boundsOrNone(bounds []float64, err error) []float64 {
	if err != nil {
		return nil
	}
	return slices.Clone(bounds)
}

package hdrmetric

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"

	"github.com/otelprof/otelprof/otelhdr"
)

// A stream is one metric: what one view, or none, makes of one or more instruments. It has a series
// for each set of attributes.
type stream struct {
	provider                *MeterProvider
	name, description, unit string
	integer                 bool
	steps                   float64          // in a unit; 1 for integers
	filter                  attribute.Filter // nil to keep all attributes
	bounds                  []float64        // advice
	maxScale                int32
	noExtremes              bool
	reservoir               exemplar.ReservoirProvider
	created                 time.Time
	reported                []time.Time // of each producer, when it last collected; guarded by its lock

	table *seriesTable
	plain atomic.Pointer[series] // of values without attributes; nil before the first
	full  atomic.Pointer[series] // of those beyond the cardinality limit; nil before the first

	aliased atomic.Int32 // sets in table that are not those of a series

	mu       sync.Mutex
	all      []*series // the series in the table; an array that was handed out is not changed
	beyond   *series   // of those, the one beyond the limit, or nil
	leaving  []*series // the series no longer in the table; see forget
	finished bool      // a series was, so new ones do not begin with the stream
}

// A series is what was recorded with one set of attributes, after filtering.
type series struct {
	// What a record needs fits a cache line; some of it is the stream's.
	values    *otelhdr.Concurrent // of 0 and above, in steps
	steps     float64
	exemplars exemplarFilter
	of        *stream

	negative atomic.Pointer[otelhdr.Concurrent] // of the others, without their sign; nil before the first
	set      attribute.Set
	start    time.Time // of a cumulative point
	readings []reading // of each producer
	ended    atomic.Pointer[finished]

	// See forget. Guarded by the stream's lock.
	silent, read producers
	bound        bool
}

// maxAliases is how many sets of attributes a stream remembers the series of, besides the series'
// own sets: sets before filtering. Any further ones are filtered anew for every record.
const maxAliases = 4096

// exponential is the aggregation that views and reservoirs see, with the SDK's defaults.
var exponential = sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: maxScale}

func newStream(p *MeterProvider, s sdkmetric.Stream, integer bool, bounds []float64) *stream {
	n := &stream{
		provider:    p,
		name:        s.Name,
		description: s.Description,
		unit:        s.Unit,
		integer:     integer,
		steps:       1,
		filter:      s.AttributeFilter,
		bounds:      bounds,
		maxScale:    maxScale,
		created:     time.Now(),
		reported:    make([]time.Time, len(p.producers)),
		table:       newSeriesTable(),
	}
	if !integer {
		n.steps = float64(p.config.steps(s.Unit))
	}
	aggregation := exponential
	if a, ok := s.Aggregation.(sdkmetric.AggregationBase2ExponentialHistogram); ok {
		n.maxScale, n.noExtremes, aggregation = a.MaxScale, a.NoMinMax, a
	}
	reservoirs := s.ExemplarReservoirProviderSelector
	if reservoirs == nil {
		reservoirs = sdkmetric.DefaultExemplarReservoirProviderSelector
	}
	n.reservoir = reservoirs(aggregation)
	return n
}

// unattributed returns the series of values without attributes.
func (s *stream) unattributed() *series {
	if x := s.plain.Load(); x != nil {
		return x
	}
	return s.findUnattributed()
}

func (s *stream) findUnattributed() *series {
	for {
		x := s.series(attribute.NewSet())
		if x == s.full.Load() {
			return x // as find does, without a lock for every record
		}
		s.mu.Lock()
		stays := slices.Contains(s.all, x) // it may have left meanwhile
		if stays && x != s.full.Load() {
			s.plain.Store(x) // whichever goroutine comes here has found the same
		}
		s.mu.Unlock()
		if stays {
			return x
		}
	}
}

// series returns the series of a set of attributes.
func (s *stream) series(set attribute.Set) *series {
	if x := s.table.get(set.Equivalent()); x != nil {
		return x
	}
	return s.find(set)
}

// find returns the series of a set of attributes that the table does not have. Where it can, it
// makes the table have it.
func (s *stream) find(set attribute.Set) *series {
	given := set.Equivalent()
	set = withoutDuplicates(set)
	key := keptKey(set, s.filter)
	full := s.full.Load() // before the table, which has all series then
	x := s.table.get(key)
	if x == nil {
		// Since the limit was reached, no set gets a series of its own. Without that there would be
		// a lock for every record of a set too many.
		if full != nil {
			return full
		}
	} else if s.aliased.Load() >= maxAliases {
		return x
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if x = s.table.get(key); x == nil {
		x = s.add(key, set)
	}
	if x != s.full.Load() && s.table.get(given) == nil && s.aliased.Load() < maxAliases {
		s.aliased.Add(1)
		s.table.put(given, x)
	}
	return x
}

// add makes a series of a set of attributes, unless there are too many. The caller holds mu.
func (s *stream) add(key attribute.Distinct, set attribute.Set) *series {
	if s.beyondLimit() {
		if s.beyond == nil {
			key = overflowSet.Equivalent()
			if s.beyond = s.table.get(key); s.beyond == nil {
				s.beyond = s.newSeries(key, overflowSet)
			}
		}
		s.full.Store(s.beyond)
		return s.beyond
	}
	if s.filter != nil {
		set, _ = set.Filter(s.filter)
	}
	return s.newSeries(key, set)
}

// beyondLimit reports whether a further set of attributes gets no series of its own. The caller
// holds mu.
func (s *stream) beyondLimit() bool {
	own := len(s.all)
	if s.beyond != nil {
		own--
	}
	limit := s.provider.config.cardinalityLimit
	return limit > 0 && own >= limit-1
}

// newSeries makes the table have a series, one that is leaving or a new one. The caller holds mu.
func (s *stream) newSeries(key attribute.Distinct, set attribute.Set) *series {
	x := s.takeBack(key)
	if x == nil {
		start := s.created
		if s.finished || s.provider.config.seriesStart {
			start = time.Now()
		}
		x = &series{
			values:    s.provider.newHistogram(),
			steps:     s.steps,
			exemplars: s.provider.config.exemplars,
			of:        s,
			set:       set,
			start:     start,
			readings:  make([]reading, len(s.provider.producers)),
		}
	}
	s.table.put(key, x)
	s.all = append(s.all, x)
	return x
}

// recordFloat64 records v in x, and reports whether it is to be offered as an exemplar.
func (x *series) recordFloat64(ctx context.Context, v float64) (sampled bool) {
	// Rounding by adding a half leaves the sign for negative values, which together with NaN and
	// what is too large fail this one test. Conversion to int64, unlike that to uint64, is one
	// instruction.
	n := v*x.steps + 0.5
	if n >= 0.5 && n < 1<<63 {
		x.values.Record(uint64(int64(n)))
	} else if !x.of.recordIrregular(x, v) {
		return false
	}
	return !x.exemplars.never(ctx) && x.exemplars.allows(ctx)
}

// recordInt64 records v in x, and reports whether it is to be offered as an exemplar.
func (x *series) recordInt64(ctx context.Context, v int64) (sampled bool) {
	if v >= 0 {
		x.values.Record(uint64(v))
	} else {
		x.of.below(x).Record(-uint64(v)) // which is right for the smallest int64, too
	}
	return !x.exemplars.never(ctx) && x.exemplars.allows(ctx)
}

// recordIrregular records a value that is negative or large, and reports whether it was a number.
func (s *stream) recordIrregular(x *series, v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s.provider.notFinite.Add(1)
		return false
	}
	n := uint64(math.MaxUint64)
	if f := math.Abs(v)*s.steps + 0.5; f < 1<<64 {
		n = uint64(f)
	} else {
		s.provider.tooLarge.Add(1)
	}
	if v < 0 {
		s.below(x).Record(n)
	} else {
		x.values.Record(n)
	}
	return true
}

// below returns the histogram of the negative values of x.
func (s *stream) below(x *series) *otelhdr.Concurrent {
	if c := x.negative.Load(); c != nil {
		return c
	}
	x.negative.CompareAndSwap(nil, s.provider.newHistogram())
	return x.negative.Load()
}

// snapshot returns the series in the order they were made, and the ones in leaving.
func (s *stream) snapshot() (all, leaving []*series) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.all), slices.Clone(s.leaving)
}

// sizeBytes returns the memory of the histograms.
func (s *stream) sizeBytes() int {
	n := 0
	all, leaving := s.snapshot()
	for _, x := range append(all, leaving...) {
		n += x.values.SizeBytes()
		if c := x.negative.Load(); c != nil {
			n += c.SizeBytes()
		}
	}
	return n
}

package spans

import (
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// pushed is what a producer has given to an exporter that pushes, so that most of the collections
// that come often are of those regions alone in which spans have ended since: of thousands of names
// few change in a second. One goroutine uses it at a time.
type pushed struct {
	whole func() bool
	last  map[*regionStats]push
}

// A push is what a region had come to when it was given.
type push struct {
	spans, errors uint64
	at            time.Time
}

// again is after what time a region is given again though nothing has changed: a little less than
// the 10 s that are promised, so that each of the collections that come each 10 s has all.
const again = 9 * time.Second

// SkipUnchanged leaves regions without news out of collections that come more often than each 10 s,
// of cumulative temporality. It is called before the first collection, for readers that push: who
// pulls metrics takes a series that is missing for one that has ended. While whole returns true
// collections are of all regions: what was given before may not have arrived.
func (p *producer) SkipUnchanged(whole func() bool) {
	if p.temporality == metricdata.CumulativeTemporality {
		p.pushed = &pushed{whole: whole, last: map[*regionStats]push{}}
	}
}

// due returns the regions that a collection at a time has, and keeps that it has them. It calls
// rest now and then: to count the spans of a region takes a microsecond.
func (p *pushed) due(all []*regionStats, at time.Time, rest func()) (due []*regionStats) {
	if p.whole() {
		clear(p.last)
	}
	for i, s := range all {
		if i%regionsAtOnce == 0 {
			rest()
		}
		now, before := push{s.durations.Count(), s.errors.Load(), at}, p.last[s]
		if now.spans != before.spans || now.errors != before.errors || at.Sub(before.at) >= again {
			p.last[s] = now
			due = append(due, s)
		}
	}
	return due
}

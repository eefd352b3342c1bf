package causal

import (
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
)

// maxEnded bounds the documents that are remembered, and the IDs; within an hour a source that is
// polled each second brings fewer.
const maxEnded = 4096

// ended are documents, by hash, whose plan was in force and has ended, or plans by ID, with the
// time at which the plan expires. After that it is refused for its age, unless the clock was set
// back, so that it is remembered until others need the room.
type ended map[string]time.Time

// add remembers a plan that came as a document.
func (e ended) add(p *plan.Plan) {
	if p.Hash() != "" {
		e.remember(p.Hash(), p.ExpiresAt)
	}
}

// remember remembers a hash or an ID. The one that expires first makes room.
func (e ended) remember(key string, expires time.Time) {
	if _, known := e[key]; !known {
		makeRoom(e, func(until time.Time) time.Time { return until })
	}
	e[key] = expires
}

// makeRoom forgets the key that expires first where there are maxEnded.
func makeRoom[V any](all map[string]V, expires func(V) time.Time) {
	if len(all) < maxEnded {
		return
	}
	sooner := func(a, b string) int { return expires(all[a]).Compare(expires(all[b])) }
	delete(all, slices.MinFunc(slices.Collect(maps.Keys(all)), sooner))
}

func (e ended) has(p *plan.Plan) bool {
	_, ok := e[p.Hash()]
	return ok
}

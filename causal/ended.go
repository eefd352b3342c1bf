package causal

import (
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
	if _, known := e[key]; !known && len(e) >= maxEnded {
		first := key
		for other, until := range e {
			if first == key || until.Before(e[first]) {
				first = other
			}
		}
		delete(e, first)
	}
	e[key] = expires
}

func (e ended) has(p *plan.Plan) bool {
	_, ok := e[p.Hash()]
	return ok
}

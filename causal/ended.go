package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/plan"
)

// maxEnded bounds the documents that are remembered, and the IDs; within an hour a source that is
// polled each second brings fewer.
const maxEnded = 4096

// ended are the documents, by hash, whose plan was in force and has ended, each until the plan
// would have expired: after that it is refused for its age.
type ended map[string]time.Time

// add remembers a plan that came as a document.
func (e ended) add(p *plan.Plan, now time.Time) {
	if p.Hash() != "" {
		e.remember(p.Hash(), p.ExpiresAt, now)
	}
}

// remember remembers a document until its plan expires. The one that expires first makes room.
func (e ended) remember(document string, expires, now time.Time) {
	first := ""
	for hash, until := range e {
		if !until.After(now) {
			delete(e, hash)
		} else if first == "" || until.Before(e[first]) {
			first = hash
		}
	}
	if len(e) >= maxEnded {
		delete(e, first)
	}
	e[document] = expires
}

func (e ended) has(p *plan.Plan) bool {
	_, ok := e[p.Hash()]
	return ok
}

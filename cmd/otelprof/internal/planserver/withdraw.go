package planserver

import (
	"log/slog"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// A Withdrawal identifies the plan that the server has taken back, since an instance had aborted
// it.
type Withdrawal struct {
	PlanInfo
	Service    string `json:"service"`
	InstanceID string `json:"instance_id"`
	// State is what the instance said: "aborted", and why.
	State string    `json:"state"`
	At    time.Time `json:"at"`
}

// heed withdraws the plan if an instance reports that it has aborted it: what hurts one may hurt
// all, and the others would go on until their own breakers open. The report is not verified, but
// all that a false one does is to end a plan. s.mu is held.
func (s *Server) heed(i *instance) {
	o := s.offer
	if len(o.document) == 0 || i.hash != o.hex() || i.Status != StatusApplied || !aborted(i.State) {
		return
	}
	s.withdrawn = &Withdrawal{PlanInfo: o.info(), Service: i.Service, InstanceID: i.InstanceID, State: i.State, At: time.Now()}
	s.log.Warn("planserver: plan withdrawn", append(o.attrs(), slog.String("service", i.Service), slog.String("instance", i.InstanceID), slog.String("state", i.State))...)
	s.set(nothing)
}

// aborted reports whether a state, which may be followed by a reason, is that of a plan whose
// breaker has opened.
func aborted(state string) bool {
	word, _, _ := strings.Cut(state, ":")
	return word == string(causal.StateAborted)
}

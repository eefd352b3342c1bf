package spans

import "time"

// A Store keeps finished sessions. Append is called by one goroutine, the reading
// methods by any. [NewRing] makes the default, which keeps them in memory.
type Store interface {
	// Append adds a finished session. A record with Revision above 0 takes the place
	// of the one with the same ID, if that is still kept. An error is counted under
	// [Dropped.StoreError], and so is a panic; nothing is tried again.
	Append(*SessionRecord) error
	// Session returns the session with this ID, if it is still kept.
	Session(SessionID) (*SessionRecord, bool)
	// Sessions returns the sessions that match, newest first.
	Sessions(Query) []*SessionRecord
}

// A Chooser is a Store that can say beforehand whether it would keep a session, so that no
// record is made of the others.
type Chooser interface {
	Store
	// Wants is called by the goroutine that calls Append, before it, for each session that
	// ends. Those it does not want are counted under [Dropped.Unwanted].
	Wants(name string, duration time.Duration, errors int) bool
}

// A Query selects sessions. The zero value selects all.
type Query struct {
	// Name selects sessions of this name, "" all.
	Name string
	// MinDuration selects sessions that took at least this long.
	MinDuration time.Duration
	// ErrorsOnly selects sessions in which a span has status Error.
	ErrorsOnly bool
	// Worst orders by duration, longest first, and not by start.
	Worst bool
	// Limit is the largest number of sessions returned, 0 for all.
	Limit int
}

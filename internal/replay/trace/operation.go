package trace

import (
	"github.com/otelprof/otelprof/internal/mark"
)

// Acquires reports whether an operation is one that another goroutine lets go on, so that it stands
// in a recording after what let it go on (happens-before, see mark.Op). Where a window begins with
// its end, both its beginning and what let it go on may have been before the window. A send is not
// such an operation: package model counts its element from where the send begins.
func Acquires(what mark.Op) bool {
	switch what {
	case mark.Lock, mark.WriteLock, mark.ReadLock, mark.Wait, mark.Receive, mark.Await:
		return true
	}
	return false
}

// Ends reports whether an operation is the end of one that began, on one goroutine. The caller
// compares the objects: a select statement has several. What comes in between belongs to the
// operation that began: Cond.Wait of package causal gives its lock back within itself.
//
// A send that panics ends, too: it finds the channel closed. Other operations that panic have no
// end; a goroutine that recovers seems to be within one until its next one of that kind is done.
func Ends(begin, end mark.Op) bool {
	switch begin {
	// A select statement has one beginning, and ends with the case that was taken, or with its own
	// end for the default, a timer, or a channel that has no marks.
	case mark.Select.Beginning():
		return end == mark.Select || end == mark.Send || end == mark.Receive || end == mark.TrySend || end == mark.TryReceive || end == mark.Closed
	// A receive may find the channel closed.
	case mark.Receive.Beginning():
		return end == mark.Receive || end == mark.Closed
	case mark.Send.Beginning():
		return end == mark.Send || end == mark.Closed
	}
	return begin == end.Beginning()
}

package trace

import (
	"github.com/otelprof/otelprof/internal/mark"
)

// Acquires reports whether an operation may wait for other goroutines.
func Acquires(what mark.Op) bool {
	switch what {
	case mark.Lock, mark.WriteLock, mark.ReadLock, mark.Wait, mark.Receive, mark.Await:
		return true
	}
	return false
}

// Ends reports whether an operation is the end of one that began.
func Ends(begin, end mark.Op) bool {
	switch begin {
	case mark.Select.Beginning():
		return end == mark.Select || end == mark.Send || end == mark.Receive || end == mark.TrySend || end == mark.TryReceive || end == mark.Closed
	case mark.Receive.Beginning():
		return end == mark.Receive || end == mark.Closed
	}
	return begin == end.Beginning()
}

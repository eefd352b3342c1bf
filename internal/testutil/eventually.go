package testutil

import "time"

// Eventually asks until ok, for half a minute, and reports whether it was: what goroutines do
// elsewhere takes as long as the machine is busy.
func Eventually(ok func() bool) bool {
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

//go:build otelprof_runtime

package sched_test

import (
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/sched"
)

// What a goroutine waits for between two requests, the next one sleeps for, in whole. If it held a processor for that, connections
// that do so would leave none to the region.
func TestRequestSleepsForTheWaitBefore(t *testing.T) {
	const wait = 1500 * time.Microsecond // its debt is too short to be slept for if it were for work
	client, server := connected(t)
	waits := map[string]func(){
		"network": func() {
			go func() {
				defer sched.Exempt()() // it stands for the world
				time.Sleep(wait)
				_, _ = client.Write([]byte{1})
			}()
			var b [1]byte
			_, _ = server.Read(b[:])
		},
		"timer": func() { <-time.After(wait) },
	}
	pays := map[string]func(){
		"when it begins":     func() { sched.Arrive() },
		"at its first point": func() { sched.Point() },
	}
	for what, wait := range waits {
		for when, pay := range pays {
			t.Run(what+" "+when, func(t *testing.T) {
				busy(t, 0.5, unlimited)
				// On a busy machine others pay, too, or the wait is so long that the connection is idle.
				for range 50 {
					if spent, held := request(wait, pay); spent > 500*time.Microsecond && held < spent/2 {
						return
					}
				}
				t.Error("a processor was held, or nothing paid, in 50 tries")
			})
		}
	}
}

// request waits between two requests, and returns by how much pay delays the second, and for how much of that processors were held.
func request(wait, pay func()) (spent, held time.Duration) {
	first, second := sched.Open(false), sched.Open(false)
	defer first.Close()
	defer second.Close()
	none := first.Join(false)
	sched.Point()
	none.Join(false)
	wait()
	second.Join(false)
	defer none.Join(false)
	_, before := sched.Books()
	earlier := sched.Read().Paid
	pay()
	_, after := sched.Books()
	return after - before, sched.Read().Paid - earlier
}

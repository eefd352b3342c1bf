package schedule

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// What a region has written to the network others may have waited for, unless it waits for the
// answer itself.
func TestSent(t *testing.T) {
	const wait = 20 * time.Millisecond
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all sync.WaitGroup
	all.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		text := make([]byte, 1)
		for {
			if _, err := c.Read(text); err != nil {
				return
			}
			time.Sleep(wait / 2)
			if _, err := c.Write(text); err != nil {
				return
			}
		}
	})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r, tr := recording(t)
	writes := func() {
		time.Sleep(wait)
		if _, err := c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
	}
	reads := func() {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
	timed(t.Context(), tr, "passes on", func(context.Context) { writes() })
	reads()
	timed(t.Context(), tr, "asks", func(context.Context) { writes(); reads() })
	report := snapshot(t, r)
	if got := regionOf(t, report, "passes on").Awaited; got < wait {
		t.Errorf("what passes on was awaited for %v, want %v", got, wait)
	}
	if got := regionOf(t, report, "asks").Awaited; got > wait/4 {
		t.Errorf("what asks was awaited for %v, want none", got)
	}
	_ = c.Close()
	all.Wait()
}

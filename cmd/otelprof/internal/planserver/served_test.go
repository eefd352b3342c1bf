package planserver

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// broken is a listener that fails for good.
type broken struct {
	net.Listener
	err error
}

func (b broken) Accept() (net.Conn, error) { return nil, b.err }

// A server that does not listen any more says so, and why.
func TestServedWhenTheListenerFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	failed := errors.New("the interface is gone")
	for _, want := range []error{failed, nil} {
		s, err := NewServer()
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if want != nil {
			ln = broken{ln, want}
		}
		if err := s.serveOn(ln); err != nil {
			t.Fatal(err)
		}
		if want != nil {
			select {
			case <-s.Served():
			case <-ctx.Done():
				t.Fatal("the listener has failed, and the server is said to serve")
			}
		}
		if err := s.Shutdown(ctx); !errors.Is(err, want) {
			t.Errorf("Shutdown = %v, want %v", err, want)
		}
		select {
		case <-s.Served():
		default:
			t.Error("Served is open after Shutdown")
		}
	}
}

package main

import (
	"context"
	"io"
	"net"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

// link carries what comes at an address to another one, and the answers back. It is slow: what has
// come is carried in one go, and what comes meanwhile waits.
func link(ctx context.Context, tracer trace.Tracer, from, to string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", from)
	if err != nil {
		return err
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil { // the member does not listen yet: the other one tries again
				hangUp(near)
				continue
			}
			go carry(ctx, tracer, near, far)
			go carry(ctx, tracer, far, near)
		}
	}()
	return nil
}

// carry carries what comes, until one side hangs up.
func carry(ctx context.Context, tracer trace.Tracer, from, to net.Conn) {
	defer hangUp(from)
	defer hangUp(to)
	text := make([]byte, 1<<20)
	for {
		n, err := from.Read(text)
		if err != nil {
			return
		}
		_, span := tracer.Start(ctx, "link")
		control.Sleep("link", 4*time.Millisecond, 400*time.Microsecond)
		_, err = to.Write(text[:n])
		span.End()
		if err != nil {
			return
		}
	}
}

// hangUp closes what nothing is expected of any more.
func hangUp(c io.Closer) { _ = c.Close() }

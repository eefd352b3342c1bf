package opamp

import (
	"context"
	"fmt"
	"math"
	"net"
)

// maxHandshakeBytes bounds what a server may send, certificates included, before a WebSocket is
// open: the library reads headers of any size.
const maxHandshakeBytes = 64 << 10

// A meter bounds what is read from a connection until it is stopped.
type meter struct {
	conn  *meteredConn
	stops func() bool
}

type meteredConn struct {
	net.Conn
	left int // bytes that may be read; for one reader at a time
}

func (c *meteredConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("handshake: must have at most %d bytes", maxHandshakeBytes)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// dial returns dial with a bound. Until the meter is stopped, the end of the context closes the
// connection, which the library does not see to.
func (m *meter) dial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		m.conn = &meteredConn{conn, maxHandshakeBytes}
		m.stops = context.AfterFunc(ctx, func() { _ = conn.Close() })
		return m.conn, nil
	}
}

// stop lifts the bound. The context may end after it.
func (m *meter) stop() {
	m.stops()
	m.conn.left = math.MaxInt
}

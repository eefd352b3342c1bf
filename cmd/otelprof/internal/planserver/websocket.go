package planserver

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/open-telemetry/opamp-go/protobufs"
	"github.com/open-telemetry/opamp-go/server/types"
)

// writeTimeout is how long an agent may take to receive.
const writeTimeout = 10 * time.Second

// An agent is one connection of an instance. What it is offered is under Server.mu.
type agent struct {
	how      How
	conn     types.Connection // nil until the WebSocket is there
	instance *instance        // nil before the first message
	offered  *offer           // what was sent last over a WebSocket
	has      string           // the hash that was reported over it, "" if none was
	wake     chan struct{}    // of one: the offer has changed
	done     chan struct{}    // closed with the connection
}

// connected makes room for one more WebSocket, nil if there is none.
func (s *Server) connected() *agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.agents) >= maxInstances {
		return nil
	}
	return &agent{how: HowWebSocket, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// poke never blocks: one signal is as good as two.
func (a *agent) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *agent) callbacks(s *Server) types.ConnectionCallbacks {
	return types.ConnectionCallbacks{
		OnConnected: func(_ context.Context, conn types.Connection) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.closed || len(s.agents) >= maxInstances {
				_ = conn.Disconnect()
				return
			}
			a.conn = conn
			s.agents[a] = struct{}{}
			s.working.Add(2) // the goroutine that reads, until OnConnectionClose, and the one that pushes
			go a.push(s)
		},
		OnMessage: func(_ context.Context, conn types.Connection, m *protobufs.AgentToServer) *protobufs.ServerToAgent {
			if m, ok := conn.Connection().(*meteredConn); ok {
				m.left.Store(maxMessageBytes)
			}
			return s.guarded(a, m)
		},
		OnReadMessageError: func(conn types.Connection, _ int, _ []byte, _ error) {
			_ = conn.Disconnect() // the peer does not speak OpAMP
		},
		OnConnectionClose: func(types.Connection) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if a.conn == nil {
				return
			}
			defer s.working.Done()
			close(a.done)
			delete(s.agents, a)
			if i := a.instance; i != nil && i.agent == a { // and has not come back before
				s.speaks(i, nil)
				s.say(slog.LevelInfo, "planserver: instance gone", i.attrs())
			}
		},
	}
}

// push sends the plan when it changes, on a goroutine of the connection's own: one that does not
// read delays no other.
func (a *agent) push(s *Server) {
	defer s.working.Done()
	for {
		select {
		case <-a.done:
			return
		case <-a.wake:
		}
		if m := s.pushTo(a); m != nil && a.conn.Send(context.Background(), m) != nil {
			_ = a.conn.Disconnect()
		}
	}
}

func (s *Server) pushTo(a *agent) *protobufs.ServerToAgent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.offerTo(a); c != nil {
		return &protobufs.ServerToAgent{InstanceUid: []byte(a.instance.key), RemoteConfig: c}
	}
	return nil
}

func (s *Server) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") == protobufType {
		problem(w, http.StatusBadRequest, "GET %s: must upgrade to a WebSocket", opampPath)
		return
	}
	s.opamp(hijacker{w}, r)
}

// A hijacker hands connections out metered.
type hijacker struct{ http.ResponseWriter }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("planserver: %w", err)
	}
	m := &meteredConn{Conn: conn}
	m.left.Store(maxMessageBytes)
	return m, rw, nil
}

// A meteredConn ends when more is read than one message may have before the next one is complete,
// and when the peer does not read what is written. The library has no such bounds.
type meteredConn struct {
	net.Conn
	left atomic.Int64
}

func (m *meteredConn) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if err == nil && m.left.Add(-int64(n)) < 0 {
		return 0, fmt.Errorf("planserver: message: must have at most %d bytes", maxMessageBytes)
	}
	return n, err
}

func (m *meteredConn) Write(p []byte) (int, error) {
	if err := m.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return m.Conn.Write(p)
}

package opamp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/http/planhttp"
)

const (
	// missedBeats is how many heartbeats a connection may be silent.
	missedBeats = 3
	// answeredBeats is how many in a row a server has answered that answers all of them.
	answeredBeats = 3
	// leastGap is the least time between two messages to the server, even if it asks for more.
	leastGap = 100 * time.Millisecond
	// firstRetry doubles with each connection that fails, up to lastRetry.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// converse keeps a WebSocket open until ctx ends.
func (c *Client) converse(ctx context.Context, a *agent) {
	retry := firstRetry
	for {
		answered, err := c.connect(ctx, a)
		if ctx.Err() != nil {
			return
		}
		a.to.Missed(err)
		if answered {
			retry = firstRetry
		}
		// Half of it is random: all agents lose a server that restarts at the same time.
		wait := retry/2 + rand.N(retry/2)
		if after := retryAfter(err); after > 0 {
			wait = max(wait, c.server.Wait(after))
		}
		retry = min(2*retry, lastRetry)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// connect opens a connection and serves it until it fails or ctx ends. It reports whether the
// server has sent anything.
func (c *Client) connect(ctx context.Context, a *agent) (answered bool, err error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return false, err
	}
	s := &session{server: c.server, agent: a, conn: conn, heard: make(chan heard), ended: make(chan struct{}), read: make(chan struct{})}
	go s.listen()
	defer func() {
		close(s.ended)
		_ = conn.Close()
		<-s.read
	}()
	if err = s.run(ctx); errors.As(err, new(unsent)) {
		err = s.whyUnsent(err)
	}
	return s.answered, err
}

// A session is one WebSocket connection. One goroutine listens, the other does all else.
type session struct {
	server   *planhttp.Endpoint
	agent    *agent
	conn     *websocket.Conn
	answered bool
	sent     time.Time
	beats    beats

	heard chan heard
	ended chan struct{} // heard is not read any more
	read  chan struct{} // listen has returned
}

// heard is a message, the answer to a ping, or the end of a connection.
type heard struct {
	message []byte
	pong    bool
	err     error
	panic   any
}

func (s *session) run(ctx context.Context) error {
	s.agent.forget()
	s.agent.asked = false
	if err := s.send(); err != nil {
		return err
	}
	beat := time.NewTimer(s.server.Wait(0))
	defer beat.Stop()
	var reply <-chan time.Time // nil while no answer is due
	for {
		select {
		case <-ctx.Done():
			s.leave()
			return nil
		case h := <-s.heard:
			if err := s.take(h); err != nil {
				return err
			}
			if reply == nil && s.agent.changed() {
				reply = time.After(leastGap - time.Since(s.sent))
			}
		case <-reply:
			reply = nil
			if err := s.send(); err != nil {
				return err
			}
		case <-beat.C:
			beat.Reset(s.server.Wait(0))
			s.agent.asked = s.answered
			s.beats.sent()
			if err := s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.server.Timeout())); err != nil {
				return unsent{err}
			}
			if err := s.send(); err != nil {
				return err
			}
		}
	}
}

func (s *session) take(h heard) error {
	switch {
	case h.panic != nil:
		panic(h.panic) // where Follow recovers it
	case h.err != nil:
		return h.err
	case h.pong:
		if !s.beats.expected.Load() {
			s.agent.unchanged()
		}
		return nil
	}
	err := s.agent.decode(h.message)
	if err == nil {
		s.answered = true
		s.beats.answered()
	}
	return err
}

// beats are the heartbeats of one connection. Servers need not answer them: then answers to pings,
// which can be a proxy's, tell that the server is there. One that has answered some in a row is
// expected to go on.
type beats struct {
	due      bool // one has no answer yet
	row      int  // so many had
	expected atomic.Bool
}

func (b *beats) sent() {
	if b.due {
		b.row = 0
	}
	b.due = true
}

func (b *beats) answered() {
	if !b.due {
		return
	}
	b.due = false
	if b.row++; b.row >= answeredBeats {
		b.expected.Store(true)
	}
}

// send writes the next message. It takes as long as the timeout at most.
func (s *session) send() error { return s.write(s.agent.next(), s.server.Timeout()) }

func (s *session) write(m proto.Message, timeout time.Duration) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	s.sent = time.Now()
	if err := s.conn.SetWriteDeadline(s.sent.Add(timeout)); err != nil {
		return err
	}
	// A message begins with a header, the number zero.
	if err := s.conn.WriteMessage(websocket.BinaryMessage, append([]byte{0}, body...)); err != nil {
		return unsent{err}
	}
	return nil
}

// unsent is an error of a write.
type unsent struct{ error }

func (e unsent) Unwrap() error { return e.error }

// whyUnsent returns what listen has come upon, if anything, rather than that a connection
// which ended thereby cannot be written to.
func (s *session) whyUnsent(err error) error {
	_ = s.conn.Close() // so that listen ends
	for {
		switch h := <-s.heard; {
		case h.panic != nil:
			panic(h.panic)
		case errors.Is(h.err, net.ErrClosed) || errors.Is(h.err, io.ErrClosedPipe):
			return err
		case h.err != nil:
			return h.err
		}
	}
}

// leave ends the plan and reports that to the server.
func (s *session) leave() {
	s.agent.to.None("the plan's source has ended")
	if s.write(s.agent.last(), patience) == nil {
		// There is nothing left to do if it fails.
		_ = s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(patience))
	}
}

// listen hands over what it reads until the connection ends.
func (s *session) listen() {
	defer close(s.read)
	defer func() {
		if v := recover(); v != nil {
			s.hand(heard{panic: v})
		}
	}()
	silence := missedBeats * s.server.Interval()
	alive := func() error { return s.conn.SetReadDeadline(time.Now().Add(silence)) }
	s.conn.SetReadLimit(maxMessageBytes + 1) // and the header
	s.conn.SetPongHandler(func(string) error {
		s.hand(heard{pong: true})
		if s.beats.expected.Load() {
			return nil
		}
		return alive()
	})
	for {
		err := alive()
		var message []byte
		if err == nil {
			message, err = readMessage(s.conn)
		}
		s.hand(heard{message: message, err: err})
		if err != nil {
			return
		}
	}
}

func (s *session) hand(h heard) {
	select {
	case s.heard <- h:
	case <-s.ended:
	}
}

// readMessage returns the next message without its header. The connection's limit is on what is
// sent, this one on what is read.
func readMessage(conn *websocket.Conn) ([]byte, error) {
	kind, r, err := conn.NextReader()
	if err != nil {
		return nil, err
	}
	if kind != websocket.BinaryMessage {
		return nil, fmt.Errorf("message of type %d: must be %d, binary", kind, websocket.BinaryMessage)
	}
	message, err := io.ReadAll(io.LimitReader(r, maxMessageBytes+2))
	// Old servers have no header. No message begins with zero, which is no field's number.
	if len(message) > 0 && message[0] == 0 {
		message = message[1:]
	}
	return message, err
}

// dial opens a connection, in the time of one request.
func (c *Client) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.server.Timeout())
	defer cancel()
	header, err := c.server.Header(ctx)
	if err != nil {
		return nil, err
	}
	var meter meter
	dialer := websocket.Dialer{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: c.server.TLS(),
		NetDialContext:  meter.dial(c.server.Dial),
	}
	conn, response, err := dialer.DialContext(ctx, c.server.URL().String(), header)
	switch {
	case err != nil && response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, refusedBy(planhttp.Answer{Status: response.StatusCode, Header: response.Header}, http.StatusSwitchingProtocols)
	case err != nil:
		return nil, err
	}
	meter.stop()
	if response.Header.Get("Sec-Websocket-Extensions") != "" {
		_ = conn.Close()
		return nil, errors.New("the server compresses messages: must not, since it was not offered")
	}
	return conn, nil
}

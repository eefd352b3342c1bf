package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// atOnce is how many calls of tools are under way at most. Messages wait where there are more.
const atOnce = 8

// Serve answers messages, one on each line, until in ends, or ctx has when one comes, and then
// waits for what is under way. Calls of tools are answered when they are done; what else comes is
// answered beside them, in its order. A call that the client has cancelled has no answer.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := conversation{server: s, out: out, stop: stop, cancels: map[string]context.CancelFunc{}, places: make(chan struct{}, atOnce)}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxMessage+1) // and the end of its line
	for ctx.Err() == nil && lines.Scan() {
		if len(lines.Bytes()) > 0 {
			ctx = c.take(ctx, lines.Bytes())
		}
	}
	c.calls.Wait()
	switch err := lines.Err(); {
	case c.broken != nil:
		return fmt.Errorf("mcp: answer: %w", c.broken)
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("mcp: message: must have at most %d bytes: %w", maxMessage, err)
	default:
		return fmt.Errorf("mcp: input: must be readable to its end: %w", err)
	}
}

// A conversation is what one client says and is answered.
type conversation struct {
	server *Server
	stop   context.CancelFunc // of the conversation
	places chan struct{}
	calls  sync.WaitGroup

	mu      sync.Mutex // of those below
	out     io.Writer
	broken  error                         // of the first answer that could not be written
	cancels map[string]context.CancelFunc // of the calls that are under way, by ID
}

// take answers a message, or begins to, and returns the context of the next.
func (c *conversation) take(ctx context.Context, text []byte) context.Context {
	var m message
	var p params
	if json.Unmarshal(text, &m) != nil || len(m.Params) > 0 && json.Unmarshal(m.Params, &p) != nil {
		m.Method = "" // Handle says what is wrong
	}
	switch m.Method {
	case "tools/call":
		c.call(ctx, string(m.ID), bytes.Clone(text))
		return ctx
	case "notifications/cancelled":
		c.cancel(string(p.RequestID))
	case "initialize": // the client's name in the handshake of the older generation
		if name := p.ClientInfo.Name; name != "" {
			ctx = context.WithValue(ctx, clientKey{}, name)
		}
	}
	answer := c.server.Handle(ctx, text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(answer)
	return ctx
}

// call answers the call of a tool when it is done.
func (c *conversation) call(ctx context.Context, id string, text []byte) {
	c.places <- struct{}{}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.cancels[id] = cancel
	c.mu.Unlock()
	c.calls.Go(func() {
		defer func() { <-c.places }()
		defer cancel()
		answer := c.server.Handle(ctx, text)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.cancels, id)
		if ctx.Err() == nil {
			c.write(answer)
		}
	})
}

// cancel ends a call that is under way.
func (c *conversation) cancel(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.cancels[id]; ok {
		cancel()
	}
}

// write writes a whole answer, if it is one. c.mu must be held.
func (c *conversation) write(answer []byte) {
	if answer == nil || c.broken != nil {
		return
	}
	if _, err := c.out.Write(append(answer, '\n')); err != nil {
		c.broken = err
		c.stop()
	}
}

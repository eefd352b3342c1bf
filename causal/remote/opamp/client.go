// Package opamp brings plans from an OpAMP server to a causal.Controller, see package remote:
//
//	client, err := opamp.NewClient("wss://opamp.example.com/v1/opamp", remote.WithResource(res))
//	...
//	go remote.Follow(ctx, controller, client)
//
// The plan is the body of the remote configuration's entry "causal-plan", and its signature, if
// there is one, of "causal-plan.sig". A configuration without a plan ends experiments. The server
// is sent the outcome (RemoteConfigStatus, with its hash), the plan in force with the limits of
// this process (EffectiveConfig), what the controller does (ComponentHealth), and the identity of
// this process, from the resource.
//
// Offers of packages, of connection settings and of commands are declined by the client's
// capabilities, and ignored.
//
// This package speaks the protocol itself, on opamp-go's messages: opamp-go's client reads bodies
// and messages of any size, and a panic in a callback ends the process.
package opamp

import (
	"context"
	"time"

	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/internal/http/planhttp"
)

// maxMessageBytes bounds a message: a plan has 64 KiB at most.
const maxMessageBytes = 128 << 10

// A Client is a source of plans. Over HTTP it asks once in an interval; over WebSocket the server
// may send at any time, and once in an interval there is a heartbeat, with a ping. A message from
// it waits while one of ours is written, [remote.WithTimeout] at most. Servers need not answer
// heartbeats. One that has answered three in a row on a connection has to go on, and is given up
// when it has not for three. For one that has not, the answer to a ping keeps a plan in force: a
// proxy that answers pings itself can keep that of such a server, which is gone, until it expires.
type Client struct{ server *planhttp.Endpoint }

var _ remote.Source = (*Client)(nil)

func init() {
	remote.RegisterOpAMP(func(url string, opts ...remote.EndpointOption) (remote.Source, error) { return NewClient(url, opts...) })
}

// NewClient returns a source that asks an OpAMP server. The URL's scheme is wss or https, or ws or
// http if the host is loopback or [remote.WithoutTLS] is used. An error joins all that is wrong
// and wraps [remote.ErrConfig].
func NewClient(url string, opts ...remote.EndpointOption) (*Client, error) {
	e, err := planhttp.New(url, []string{"wss", "https", "ws", "http"}, opts...)
	if err != nil {
		return nil, err
	}
	return &Client{e}, nil
}

// String returns "opamp" and the URL without its query, which may be secret.
func (c *Client) String() string { return "opamp " + c.server.String() }

// Interval returns the longest time between two heartbeats, a tenth above that of
// [remote.WithInterval].
func (c *Client) Interval() time.Duration { return c.server.Interval() }

// Run talks with the server until ctx ends.
func (c *Client) Run(ctx context.Context, to *remote.Sink) {
	a := newAgent(c.server.Resource(), to, time.Now())
	if scheme := c.server.URL().Scheme; scheme == "ws" || scheme == "wss" {
		c.converse(ctx, a)
		return
	}
	defer c.server.Close()
	c.poll(ctx, a)
}

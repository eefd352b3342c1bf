package opamp

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/http/planhttp"
)

// poll asks by HTTP until ctx ends.
func (c *Client) poll(ctx context.Context, a *agent) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	answered := false
	for {
		select {
		case <-ctx.Done():
			if answered {
				c.leave(ctx, a)
			}
			return
		case <-timer.C:
		}
		began := time.Now()
		err := c.ask(ctx, a)
		if err == nil && a.changed() {
			// The outcome of a plan is reported at once; after that, the next message has to wait,
			// regardless of the server's answer.
			err = c.ask(ctx, a)
		}
		if err != nil {
			a.forget() // the server may know, or not
		}
		if ctx.Err() != nil {
			continue // that the request was cut off is no fault of the server
		}
		if answered = err == nil; !answered {
			a.to.Missed(err)
		}
		a.asked = answered
		timer.Reset(c.server.Wait(retryAfter(err)) - time.Since(began))
	}
}

func (c *Client) ask(ctx context.Context, a *agent) error {
	answer, err := c.post(ctx, a, a.next())
	switch {
	case err != nil:
		return err
	case answer.Status != http.StatusOK:
		return refusedBy(answer, http.StatusOK)
	}
	return a.decode(answer.Body)
}

// refusedBy is the error for an answer with another status than want.
func refusedBy(a planhttp.Answer, want int) *refusal {
	return &refusal{fmt.Sprintf("answer %d %s: must be %d", a.Status, http.StatusText(a.Status), want), a.RetryAfter()}
}

func (c *Client) post(ctx context.Context, a *agent, m proto.Message) (planhttp.Answer, error) {
	body, err := proto.Marshal(m)
	if err != nil {
		return planhttp.Answer{}, err
	}
	header := http.Header{}
	header.Set("Content-Type", "application/x-protobuf")
	header.Set("OpAMP-Instance-UID", a.uid.String())
	return c.server.Do(ctx, http.MethodPost, header, body, maxMessageBytes)
}

// patience is how long the end of the program waits for a server.
const patience = 500 * time.Millisecond

// leave ends the plan and reports that to the server.
func (c *Client) leave(ctx context.Context, a *agent) {
	a.to.None("the plan's source has ended")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, _ = c.post(ctx, a, a.last()) // there is nothing left to do if it fails
}

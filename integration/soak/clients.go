package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/otelhdr"
)

// clients are what a service has: some that always ask, some whose connections are idle most of the
// time, one that checks its health, and streams: one that lasts, and some that are taken up again
// after seconds.
type clients struct {
	url       string
	latencies map[string]*otelhdr.Concurrent // ns

	mu     sync.Mutex
	failed map[string]int
}

// kinds are the kinds of request that have an answer; streams go on.
var kinds = []string{"busy", "idle", "health"}

func newClients() (*clients, error) {
	c := &clients{latencies: map[string]*otelhdr.Concurrent{}, failed: map[string]int{}}
	for _, kind := range kinds {
		h, err := otelhdr.NewConcurrent()
		if err != nil {
			return nil, err
		}
		c.latencies[kind] = h
	}
	return c, nil
}

const (
	busyClients = 4
	idleClients = 20
	streams     = 8
)

// run asks until ctx ends.
func (c *clients) run(ctx context.Context) {
	var wg sync.WaitGroup
	repeat := func(kind, path string, pause func() time.Duration) {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for ctx.Err() == nil {
				if !c.ask(ctx, client, kind, path) {
					sleep(ctx, 100*time.Millisecond)
				}
				sleep(ctx, pause())
			}
		})
	}
	for range busyClients {
		repeat("busy", "/front", func() time.Duration { return 0 })
	}
	for range idleClients {
		repeat("idle", "/front", func() time.Duration {
			return 300*time.Millisecond + time.Duration(rand.Int64N(int64(2700*time.Millisecond)))
		})
	}
	repeat("health", "/healthz", func() time.Duration { return 100 * time.Millisecond })
	for n := range streams {
		wg.Go(func() {
			for ctx.Err() == nil {
				life, hangUp := ctx, func() {}
				if n > 0 { // the first lasts
					life, hangUp = context.WithTimeout(ctx, time.Second+time.Duration(rand.Int64N(int64(9*time.Second))))
				}
				err := c.stream(life)
				hangUp()
				if err != nil && life.Err() == nil {
					c.fail("stream")
					sleep(ctx, 100*time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (c *clients) fail(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[kind]++
}

func (c *clients) ask(ctx context.Context, client *http.Client, kind, path string) bool {
	began := time.Now()
	_, err := fetch.Do(ctx, client, http.MethodGet, c.url+path, http.NoBody)
	took := time.Since(began)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.fail(kind)
		return false
	default:
		c.latencies[kind].Record(uint64(took))
	}
	return true
}

// stream sends lines over a connection of its own until ctx ends.
func (c *clients) stream(ctx context.Context) error {
	host := strings.TrimPrefix(c.url, "http://")
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if _, err := fmt.Fprintf(connection, "GET /stream HTTP/1.1\r\nHost: %s\r\n\r\n", host); err != nil {
		return err
	}
	for answers := bufio.NewReader(connection); ctx.Err() == nil; {
		if _, err := io.WriteString(connection, "hello\n"); err != nil {
			return err
		}
		if line, err := answers.ReadString('\n'); err != nil || line != "ok\n" {
			return fmt.Errorf("answer %q: %w", line, err)
		}
		sleep(ctx, 50*time.Millisecond+time.Duration(rand.Int64N(int64(150*time.Millisecond))))
	}
	return nil
}

// allFailed is how many requests have failed, of all kinds.
func (c *clients) allFailed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := 0
	for _, n := range c.failed {
		all += n
	}
	return all
}

// tell prints what the clients have seen.
func (c *clients) tell(out io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range kinds {
		if all := c.latencies[kind].Snapshot(nil); all.Count() > 0 {
			fmt.Fprintf(out, "# clients %s: %d answers, median %v, 99th percentile %v, most %v\n", kind,
				all.Count(), time.Duration(all.Percentile(50)), time.Duration(all.Percentile(99)), time.Duration(all.Max()))
		}
	}
	for kind, n := range c.failed {
		fmt.Fprintf(out, "# clients %s: %d failed\n", kind, n)
	}
}

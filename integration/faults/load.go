package main

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A load sends requests to both services in turn, each on connections that are kept.
type load struct {
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	counts map[string]*counts
}

// counts are what became of the requests to one service.
type counts struct {
	requests, failed int
	latencies        []time.Duration
	err              error // the first
}

// usualClients is the number of connections to each service; think is how long a client waits
// between two requests.
const (
	usualClients = 4
	think        = 4 * time.Millisecond
	// patience is how long a client waits for an answer. A fault lasts for longer, or a service
	// that hangs would have few requests and none that failed.
	patience = 5 * time.Second
)

func startLoad(ctx context.Context, twins map[string]*twin, clients int, patience time.Duration) *load {
	ctx, stop := context.WithCancel(ctx)
	l := &load{stop: stop, counts: map[string]*counts{}}
	kinds := make([]string, 0, len(twins))
	for kind := range twins {
		kinds = append(kinds, kind)
		l.counts[kind] = &counts{}
	}
	for range cmp.Or(clients, usualClients) {
		l.running.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: patience}
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				for _, i := range rand.Perm(len(kinds)) {
					time.Sleep(think)
					if ctx.Err() != nil {
						return
					}
					started := time.Now()
					err := get(client, twins[kinds[i]].Work)
					l.add(kinds[i], time.Since(started), err)
				}
			}
		})
	}
	return l
}

func get(client *http.Client, url string) error {
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return err
}

func (l *load) add(kind string, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts[kind]
	c.requests++
	c.latencies = append(c.latencies, took)
	if err != nil {
		c.failed++
		if c.err == nil {
			c.err = err
		}
	}
}

// take returns the counts since the last call.
func (l *load) take() map[string]counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]counts{}
	for kind, c := range l.counts {
		out[kind] = *c
		*c = counts{}
	}
	return out
}

// end waits for the requests that are on their way.
func (l *load) end() {
	l.stop()
	l.running.Wait()
}

// p99 is the 99th percentile, 0 without requests.
func (c counts) p99() time.Duration {
	if len(c.latencies) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c.latencies))
	return sorted[len(sorted)*99/100]
}

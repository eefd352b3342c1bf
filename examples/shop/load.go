package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

const loadSeed = 42

// load is a closed-loop load generator: each client sends its next request when the
// answer to the last one is there, without a pause. It uses a plain http.Client, so its
// own waiting makes no spans and no regions.
type load struct {
	url     string
	clients int
	http    *http.Client
	started time.Time

	Orders     atomic.Int64        // taken
	OutOfStock atomic.Int64        // refused with 409
	Reads      atomic.Int64        // lists of products and of orders
	Latencies  *otelhdr.Concurrent // of all requests, ns
}

func newLoad(url string, clients int) *load {
	latencies, err := otelhdr.NewConcurrent()
	if err != nil {
		panic(err) // the defaults are in range
	}
	return &load{
		Latencies: latencies,
		url:       url,
		clients:   clients,
		http: &http.Client{
			Transport: &http.Transport{MaxIdleConnsPerHost: clients},
			Timeout:   30 * time.Second,
		},
		started: time.Now(),
	}
}

// Run sends requests until ctx ends or one gets an answer it should not get. A request
// under way is never cut off.
func (l *load) Run(ctx context.Context) error {
	defer l.http.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var clients sync.WaitGroup
	for i := range l.clients {
		clients.Go(func() {
			if err := l.runClient(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	clients.Wait()
	if err := context.Cause(ctx); err != ctx.Err() { //nolint:errorlint // is it the cause given above?
		return err
	}
	return nil
}

// runClient repeats a fixed mix of requests, beginning at another place for each
// client. Carts are drawn from a seeded generator, so every run buys the same.
func (l *load) runClient(ctx context.Context, client int) error {
	random := rand.New(rand.NewPCG(loadSeed, uint64(client)))
	for n := client * 13; ctx.Err() == nil; n++ {
		var err error
		began := time.Now()
		switch {
		case n%400 == 399:
			err = l.read("/orders?last=150") // the rare slow request
		case n%40 == 9:
			err = l.read("/orders?last=8")
		case n%20 == 4:
			err = l.read("/products?category=" + categories[random.IntN(len(categories))])
		default:
			err = l.order(randomCart(random))
		}
		if err != nil {
			return fmt.Errorf("client %d: %w", client, err)
		}
		l.Latencies.Record(uint64(time.Since(began)))
	}
	return nil
}

func randomCart(random *rand.Rand) cart {
	c := make(cart, 3)
	for i := range c {
		c[i] = cartLine{Product: random.IntN(len(categories) * len(materials)), Quantity: 1 + random.IntN(3)}
	}
	return c
}

func (l *load) order(c cart) error {
	body, err := json.Marshal(map[string]cart{"cart": c})
	if err != nil {
		return err
	}
	response, err := l.http.Post(l.url+"/orders", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	switch response.StatusCode {
	case http.StatusAccepted:
		l.Orders.Add(1)
	case http.StatusConflict:
		l.OutOfStock.Add(1)
	default:
		err = fmt.Errorf("POST /orders: unexpected status %s", response.Status)
	}
	return drain(response, err)
}

func (l *load) read(path string) error {
	response, err := l.http.Get(l.url + path)
	if err != nil {
		return err
	}
	l.Reads.Add(1)
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: unexpected status %s", path, response.Status)
	}
	return drain(response, err)
}

// drain reads the body to its end, so that the connection can be used again.
func drain(response *http.Response, err error) error {
	_, readErr := io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if err == nil {
		err = readErr
	}
	return err
}

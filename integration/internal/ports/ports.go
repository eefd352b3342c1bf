// Package ports finds ports for servers.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports for servers. The system takes those of clients from 32768 on, so no client's connection
// takes one of them before its server listens.
const first, end = 10_000, 30_000

var (
	mu   sync.Mutex
	last = first + rand.IntN(end-first)
)

// Free returns n ports of the loopback at which nothing listens, others each time.
func Free(n int) ([]string, error) {
	mu.Lock()
	defer mu.Unlock()
	var free []string
	for range end - first {
		if last++; last >= end {
			last = first
		}
		port := strconv.Itoa(last)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue // it is in use
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		if free = append(free, port); len(free) == n {
			return free, nil
		}
	}
	return nil, fmt.Errorf("ports in [%d, %d): must have %d that are free", first, end, n)
}

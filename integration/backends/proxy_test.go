package backends

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A fault is what a proxy does to connections.
type fault int

const (
	passes   fault = iota
	down           // connections are refused
	slow           // answers take a while
	resets         // connections are reset after the first bytes of a request
	halfOpen       // connections are accepted, and nothing ever comes of them
)

func (f fault) String() string {
	return [...]string{"passes", "down", "slow", "resets", "half-open"}[f]
}

// A proxy stands between an application and the Collector, and can be faulty.
type proxy struct {
	address, target string
	wait            time.Duration // of slow answers
	resets          atomic.Int64  // connections that were reset

	mu       sync.Mutex
	fault    fault
	listener net.Listener // nil while down
	open     map[net.Conn]bool
	running  sync.WaitGroup
}

func newProxy(t testing.TB, target string, wait time.Duration) *proxy {
	t.Helper()
	p := &proxy{address: freeAddress(t), target: target, wait: wait, fault: down, open: map[net.Conn]bool{}}
	p.become(t, passes)
	t.Cleanup(func() {
		p.become(t, down)
		p.running.Wait()
	})
	return p
}

// become sets the fault from now on. Connections that are open end, since they would go on as
// before.
func (p *proxy) become(t testing.TB, f fault) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
	for c := range p.open {
		_ = c.Close() // its users notice
	}
	switch {
	case f == down && p.listener != nil:
		if err := p.listener.Close(); err != nil {
			t.Error(err)
		}
		p.listener = nil
	case f != down && p.listener == nil:
		l, err := net.Listen("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		p.listener = l
		p.running.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // closed
				}
				if p.keep(c) {
					p.running.Go(func() { p.serve(c) })
				}
			}
		})
	}
}

// keep remembers a connection, or closes it if it comes too late.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close() // maybe a second time
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

func (p *proxy) serve(client net.Conn) {
	defer p.drop(client)
	p.mu.Lock()
	f := p.fault
	p.mu.Unlock()
	switch f {
	case halfOpen:
		_, _ = io.Copy(io.Discard, client)
		return
	case resets:
		_, _ = client.Read(make([]byte, 256))
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // Close sends a reset
		}
		p.resets.Add(1)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the target is down itself
	}
	if !p.keep(server) {
		return
	}
	defer p.drop(server)
	p.running.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	for buffer := make([]byte, 32<<10); ; {
		n, err := server.Read(buffer)
		if f == slow && n > 0 {
			time.Sleep(p.wait)
		}
		if _, errWrite := client.Write(buffer[:n]); err != nil || errWrite != nil {
			return
		}
	}
}

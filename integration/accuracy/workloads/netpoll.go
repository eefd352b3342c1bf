package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/otelprof/otelprof/internal/clock"
)

const (
	clients = 8
	think   = 5 * ms
	// PeerFlag has this command be the clients of a server.
	PeerFlag = "clients"
)

// Serve answers clients that are another process, so to wait for them is to wait for the world.
// Each connection has a goroutine, and all of them a lock.
func Serve(ctx context.Context, p *Program) {
	if err := serveClients(ctx, p); err != nil && ctx.Err() == nil {
		p.Fail(fmt.Errorf("netpoll: %w", err))
	}
}

func serveClients(ctx context.Context, p *Program) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer hangUp(listener)
	command, err := os.Executable()
	if err != nil {
		return err
	}
	peer := exec.CommandContext(ctx, command, "-"+PeerFlag, listener.Addr().String())
	peer.Stderr = os.Stderr
	if err := peer.Start(); err != nil {
		return err
	}
	defer peer.Wait() //nolint:errcheck // it is killed when ctx ends
	var (
		wg   sync.WaitGroup
		lock = p.mutex()
	)
	defer wg.Wait()
	for range clients {
		connection, err := accept(ctx, listener)
		if err != nil {
			cancel() // the connections that there are
			return err
		}
		wg.Go(func() {
			defer hangUp(connection)
			if err := answer(ctx, p, connection, lock); err != nil && ctx.Err() == nil {
				p.Fail(fmt.Errorf("netpoll: %w", err))
			}
		})
	}
	return nil
}

// connected is how soon the other process must have started and connected.
const connected = 20 * time.Second

// accept returns the next connection, which is closed when ctx ends.
func accept(ctx context.Context, listener net.Listener) (net.Conn, error) {
	if err := listener.(*net.TCPListener).SetDeadline(time.Now().Add(connected)); err != nil {
		return nil, err
	}
	connection, err := listener.Accept()
	if err == nil {
		context.AfterFunc(ctx, func() { hangUp(connection) })
	}
	return connection, err
}

// answer answers the requests of a connection: a byte each.
func answer(ctx context.Context, p *Program, connection net.Conn, lock sync.Locker) error {
	request := make([]byte, 1)
	for ctx.Err() == nil {
		if _, err := connection.Read(request); err != nil {
			return err
		}
		_, span := p.tracer.Start(ctx, "nothing")
		span.End()
		lock.Lock()
		p.IO(ctx, "critical", ms)
		lock.Unlock()
		p.progress(ctx)
		if _, err := connection.Write(request); err != nil {
			return err
		}
	}
	return nil
}

// BeClients sends requests to a server until it closes the connections. Between two requests each
// client thinks.
func BeClients(ctx context.Context, address string) error {
	var wg sync.WaitGroup
	errs := make([]error, clients)
	for i := range clients {
		wg.Go(func() { errs[i] = beClient(ctx, address) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func beClient(ctx context.Context, address string) error {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer hangUp(connection)
	for reply := make([]byte, 1); err == nil; {
		clock.Sleep(clock.Now(), think, func() bool { return true })
		if _, err = connection.Write(reply); err == nil {
			_, err = connection.Read(reply)
		}
	}
	return nil // the server is done
}

// hangUp closes what nothing is expected of any more.
func hangUp(c io.Closer) { _ = c.Close() }

package workloads

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/otelprof/otelprof/internal/clock"
)

// WebPeerFlag has this command be the clients of an HTTP server.
const WebPeerFlag = "visitors"

// serveWeb is an HTTP server for clients that are another process. Each request renders, and has a
// query of a pool of 3 connections to a database.
func serveWeb(ctx context.Context, p *Program) {
	if err := serveVisitors(ctx, p); err != nil && ctx.Err() == nil {
		p.Fail(fmt.Errorf("database: %w", err))
	}
}

func serveVisitors(ctx context.Context, p *Program) (err error) {
	db := sql.OpenDB(store{p})
	db.SetMaxOpenConns(3)
	db.SetMaxIdleConns(3)
	defer func() { err = errors.Join(err, db.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(p, db), ReadHeaderTimeout: connected}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // until it is closed
	defer serving.Wait()
	defer func() { err = errors.Join(err, server.Shutdown(context.WithoutCancel(ctx))) }() // what still runs asks db
	command, err := os.Executable()
	if err != nil {
		return err
	}
	peer := exec.CommandContext(ctx, command, "-"+WebPeerFlag, listener.Addr().String())
	peer.Stderr = os.Stderr
	if err := peer.Start(); err != nil {
		return err
	}
	return peer.Wait() // it is killed when ctx ends
}

func handler(p *Program, db *sql.DB) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in, request := p.tracer.Start(r.Context(), "request")
		p.IO(in, "render", 3*ms)
		if _, err := db.ExecContext(in, "query"); err != nil && in.Err() == nil {
			p.Fail(err)
		}
		request.End()
		p.progress(in)
		w.WriteHeader(http.StatusNoContent)
	})
}

// A store is a database whose queries take a while.
type store struct{ p *Program }

func (s store) Connect(context.Context) (driver.Conn, error) { return connection{s}, nil }
func (s store) Driver() driver.Driver                        { return nil }

type connection struct{ store }

var errNothing = errors.New("database: it can only be queried")

func (c connection) Prepare(string) (driver.Stmt, error) { return nil, errNothing }
func (c connection) Begin() (driver.Tx, error)           { return nil, errNothing }
func (c connection) Close() error                        { return nil }

// ExecContext is a query.
func (c connection) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	c.p.IO(ctx, "query", 4*ms)
	return driver.ResultNoRows, nil
}

// BeVisitors sends requests to an HTTP server until it closes the connections. Between two requests
// each client thinks.
func BeVisitors(ctx context.Context, address string) error {
	visitor := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for get(ctx, visitor, "http://"+address) == nil {
				clock.Sleep(clock.Now(), think, func() bool { return true })
			}
		})
	}
	wg.Wait()
	return nil // the server is done
}

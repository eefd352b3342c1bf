package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A bench is what stands around the two services for one fault.
type bench struct {
	folder    string // of its own
	data      string // the data folder
	collector *collector
	settings  []string // further environment of the service with otelprof
	twins     map[string]*twin
	undo      []func()
}

// A lack is what a machine must have for a fault, and has not.
type lack struct{ error }

func newBench() (*bench, error) {
	folder, err := os.MkdirTemp("", "otelprof-faults-")
	if err != nil {
		return nil, err
	}
	b := &bench{folder: folder, data: filepath.Join(folder, "data"), twins: map[string]*twin{}}
	b.later(func() { _ = os.RemoveAll(folder) })
	if err := os.Mkdir(b.data, 0o755); err != nil {
		b.close()
		return nil, err
	}
	return b, b.collect(nil)
}

// collect starts a collector; it takes the place of the one before.
func (b *bench) collect(secured *tls.Config) error {
	c, err := newCollector(secured)
	if err != nil {
		return err
	}
	b.collector = c
	b.later(c.close)
	return nil
}

// later has something done at the end, the last first.
func (b *bench) later(undo func()) { b.undo = append(b.undo, undo) }

func (b *bench) close() {
	for _, undo := range slices.Backward(b.undo) {
		undo()
	}
}

// needs has undo done at the end, or returns that the machine lacks something.
func (b *bench) needs(undo func(), err error) error {
	if err != nil {
		return lack{err}
	}
	b.later(undo)
	return nil
}

func (b *bench) set(name, value string) { b.settings = append(b.settings, name+"="+value) }

// env returns the environment of a service.
func (b *bench) env(kind string) []string {
	env := []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + b.collector.url + "/" + kind, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_BSP_SCHEDULE_DELAY=500", "OTEL_METRIC_EXPORT_INTERVAL=1000",
	}
	if kind == ours {
		env = append(env, "OTELPROF_DATA_DIR="+b.data, "OTELPROF_VIEWER=127.0.0.1:0")
	}
	return append(env, b.settings...)
}

// start starts both services.
func (b *bench) start(ctx context.Context, f fault, stderr io.Writer) error {
	for _, kind := range []string{ours, bare} {
		t, err := startTwin(ctx, kind, f, b, stderr)
		if err != nil {
			return err
		}
		b.twins[kind] = t
		b.later(t.kill)
	}
	return nil
}

// disk puts a disk under the data folder that can be made to fail.
func (b *bench) disk() (*disk, error) {
	store := filepath.Join(b.folder, "store")
	if err := os.Mkdir(store, 0o755); err != nil {
		return nil, err
	}
	d, err := mountDisk(store, b.data)
	if err != nil {
		return nil, lack{fmt.Errorf("FUSE: %w", err)}
	}
	b.later(d.unmount)
	return d, nil
}

// plans serves plans, and has the service with otelprof ask for them.
func (b *bench) plans(s *httptest.Server) {
	b.later(s.Close)
	b.later(s.CloseClientConnections)
	b.set("OTELPROF_PLAN_URL", s.URL+"/plan")
}

// harmAll has both services do something to themselves until the fault is over.
func (b *bench) harmAll(ctx context.Context, kind string, n int) (func(), error) {
	var stops []func()
	for _, t := range b.twins {
		stop, err := t.harm(ctx, kind, n)
		if err != nil {
			return nil, err
		}
		stops = append(stops, stop)
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}, nil
}

// watch reads the causal profile of the page each second, to the end.
func (b *bench) watch(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		client := &http.Client{Timeout: 10 * time.Second}
		defer client.CloseIdleConnections()
		for tick := time.Tick(time.Second); ctx.Err() == nil; {
			_ = get(client, b.twins[ours].Viewer+"/api/v1/causal/profile")
			select {
			case <-tick:
			case <-ctx.Done():
			}
		}
	})
	b.later(func() { stop(); reading.Wait() })
}

// states asks both services for their state.
func (b *bench) states(ctx context.Context) (map[string]state, error) {
	all := map[string]state{}
	for kind, t := range b.twins {
		var err error
		if all[kind], err = t.state(ctx); err != nil {
			return nil, fmt.Errorf("service %s: %w", kind, err)
		}
	}
	return all, nil
}

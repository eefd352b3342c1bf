package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A fault is one row of the matrix.
type fault struct {
	name, what string
	service    []string // flags of the services
	// prepare is called before the services start; nil for nothing.
	prepare func(b *bench) error
	// begin makes the fault, while there is load; nil where it is there from the beginning. It
	// returns how it ends, nil if it does not.
	begin func(ctx context.Context, b *bench) (end func(), err error)
	// lasts is how long the fault lasts at least, unless -quick is given.
	lasts time.Duration
	// young is whether the first seconds after the start are measured, and not the state after
	// them.
	young bool
	// watched is whether the causal profile is read from the first request on.
	watched bool
	// terminates is whether the fault is SIGTERM to the services.
	terminates bool
	// idle is whether that comes before the first request.
	idle bool
	// clients is how many send requests, 0 for as many as mostly.
	clients int
	// peak is whether the peak of resident memory is judged, in place of the ratio, and records
	// whether recordings are made meanwhile.
	peak, records bool
}

// faults is the matrix.
func faults(s sizes) []fault {
	return slices.Concat(network(), storage(), limits(s), clocks(s), contents(s), plans(), neighbours(), endings())
}

// answers has the collector do something else.
func answers(a answer) func(context.Context, *bench) (func(), error) {
	return func(_ context.Context, b *bench) (func(), error) {
		b.collector.answer.Store(a)
		return func() { b.collector.answer.Store(accepts) }, nil
	}
}

// sets has the services start with an environment variable.
func sets(name, value string) func(*bench) error {
	return func(b *bench) error { b.set(name, value); return nil }
}

func network() []fault {
	return []fault{
		{name: "none", what: "nothing is wrong"},
		{name: "starting", what: "the first seconds, while the causal profile is read", young: true, watched: true},
		{name: "watched", what: "a minute in which the causal profile is read", lasts: time.Minute, watched: true},
		{name: "collector_down", what: "nothing listens", begin: func(_ context.Context, b *bench) (func(), error) {
			_ = b.collector.server.Close()
			return nil, nil
		}},
		{name: "collector_slow", what: "each answer takes 10 s", begin: answers(slow)},
		{name: "collector_resets", what: "each connection is reset", begin: answers(resets)},
		{name: "collector_garbage", what: "200, and a body that is no message", begin: answers(garbage)},
		{name: "collector_429", what: "429 with Retry-After", begin: answers(tooMany)},
		{name: "collector_503", what: "503 with Retry-After", begin: answers(closed)},
		{name: "tls_expired", what: "the certificate has expired", prepare: func(b *bench) error {
			secured, authority, err := expired(b.folder)
			if err != nil {
				return err
			}
			b.set("OTEL_EXPORTER_OTLP_CERTIFICATE", authority)
			return b.collect(secured)
		}},
		{name: "dns_gone", what: "the name has no address", prepare: sets("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.invalid:4318")},
	}
}

// written has the data folder's disk fail, or take its time.
func written(err error, delay time.Duration) (prepare func(*bench) error, begin func(context.Context, *bench) (func(), error)) {
	var d *disk
	prepare = func(b *bench) (errDisk error) { d, errDisk = b.disk(); return errDisk }
	begin = func(context.Context, *bench) (func(), error) {
		d.becomes(err, delay)
		return func() { d.becomes(nil, 0) }, nil
	}
	return prepare, begin
}

func storage() []fault {
	var out []fault
	for _, one := range []struct {
		name, what string
		err        error
		delay      time.Duration
	}{
		{"disk_enospc", "writes fail with ENOSPC", syscall.ENOSPC, 0},
		{"disk_erofs", "writes fail with EROFS", syscall.EROFS, 0},
		{"disk_eio", "writes fail with EIO", syscall.EIO, 0},
		{"disk_slow", "each write takes a second", nil, time.Second},
	} {
		f := fault{name: one.name, what: one.what}
		f.prepare, f.begin = written(one.err, one.delay)
		out = append(out, f)
	}
	return append(out,
		fault{name: "disk_full", what: "a file system of 256 KiB", prepare: func(b *bench) error { return b.needs(tmpfs(b.data, 256)) }},
		fault{name: "disk_removed", what: "the data folder is removed", begin: func(_ context.Context, b *bench) (func(), error) {
			return nil, os.RemoveAll(b.data)
		}},
		fault{name: "disk_shared", what: "another process has the same data folder", begin: func(ctx context.Context, b *bench) (func(), error) {
			other, err := startTwin(ctx, ours, fault{}, b, os.Stderr)
			if err != nil {
				return nil, err
			}
			b.later(other.kill)
			return func() { _, _, _ = other.end() }, nil
		}},
	)
}

// harms has the services do something to themselves.
func harms(kind string, n int) func(context.Context, *bench) (func(), error) {
	return func(ctx context.Context, b *bench) (func(), error) { return b.harmAll(ctx, kind, n) }
}

// groupSetting is the environment variable with the beginning of the names of the services' control
// groups.
const groupSetting = "FAULTS_CGROUP"

// small has each service live in a control group of its own from the start, without GOMEMLIMIT,
// while the causal profile is read.
func small(mib int, records bool) fault {
	name := fmt.Sprintf("memory_%d", mib)
	f := fault{name: name, what: fmt.Sprintf("a control group of %d MiB from the start, while the causal profile is read", mib), lasts: time.Minute, watched: true, peak: true, records: records}
	f.prepare = func(b *bench) error {
		own := fmt.Sprintf("otelprof-faults-%s-%d", name, os.Getpid())
		for _, kind := range []string{ours, bare} {
			undo, err := memoryGroup(own+"-"+kind, mib)
			if err != nil {
				return lack{fmt.Errorf("control group of memory: %w", err)}
			}
			b.later(undo)
		}
		b.set(groupSetting, own)
		b.set("GOMEMLIMIT", "off")
		return nil
	}
	return f
}

func limits(s sizes) []fault {
	return []fault{
		{name: "files_exhausted", what: "no file descriptor is left", begin: func(ctx context.Context, b *bench) (func(), error) {
			for _, t := range b.twins {
				if err := limitFiles(t.cmd.Process.Pid, 256); err != nil {
					return nil, lack{err}
				}
			}
			return b.harmAll(ctx, "files", 0)
		}},
		{name: "memory_gomemlimit", what: "all but 32 MiB of GOMEMLIMIT are in use", prepare: sets("GOMEMLIMIT", "256MiB"), begin: harms("memory", 224)},
		{name: "memory_cgroup", what: "a control group of 512 MiB, 256 in use", begin: func(ctx context.Context, b *bench) (func(), error) {
			for _, t := range b.twins {
				if err := b.needs(limitMemory(t.cmd.Process.Pid, 512)); err != nil {
					return nil, err
				}
			}
			return b.harmAll(ctx, "memory", 256)
		}},
		small(128, false), small(235, true),
		{
			name: "memory_busy", what: "31 spans a request from 40 clients, 15 MiB of live heap, while the causal profile is read", lasts: time.Minute, watched: true,
			peak: true, records: true, clients: 40, service: []string{"-service.spans", "31", "-service.held", "15"},
			prepare: func(b *bench) error {
				if runtime.GOOS != "linux" {
					return lack{errors.New("peaks of resident memory: known on Linux alone")}
				}
				b.set("GOMEMLIMIT", "off")
				return nil
			},
		},
		{name: "gomaxprocs", what: "GOMAXPROCS changes twice a second", begin: harms("processors", 0)},
		{name: "goroutines", what: fmt.Sprintf("%d goroutines, each in a span", s.goroutines), begin: harms("goroutines", s.goroutines)},
		{name: "trace_taken", what: "runtime/trace is taken", begin: harms("trace", 0)},
		{name: "sigprof_taken", what: "the CPU profile is taken", prepare: sets("OTELPROF_STACKS", "off"), begin: harms("profile", 0)},
		{name: "seccomp", what: "perf_event_open is refused", service: []string{"-service.seccomp"}},
		{name: "perf_paranoid", what: "kernel.perf_event_paranoid is 3", prepare: func(b *bench) error { return b.needs(paranoid("3")) }},
	}
}

// clocks sets the clock of the whole machine, which must therefore be used for nothing else.
func clocks(s sizes) []fault {
	by := func(d time.Duration) func(context.Context, *bench) (func(), error) {
		return func(context.Context, *bench) (func(), error) {
			if !s.clock {
				return nil, lack{errors.New("a machine of its own, whose clock may be set: make qemu has one")}
			}
			if err := stepClock(d); err != nil {
				return nil, lack{err}
			}
			return func() { _ = stepClock(-d) }, nil
		}
	}
	return []fault{
		{name: "clock_back", what: "the clock is set back by an hour", begin: by(-time.Hour)},
		{name: "clock_forward", what: "the clock is set forward by an hour", begin: by(time.Hour)},
	}
}

func contents(s sizes) []fault {
	return []fault{
		{name: "names", what: fmt.Sprintf("%d span names", s.names), service: []string{"-service.names", strconv.Itoa(s.names)}},
		{name: "attributes", what: "an attribute of 1 MB in each tenth request", service: []string{"-service.attribute", "1000000"}},
		{name: "panic_hook", what: "each hook panics", service: []string{"-service.panics", "hook"}},
		{name: "panic_store", what: "the store panics", service: []string{"-service.panics", "store"}},
		{name: "panic_logger", what: "the logger panics", service: []string{"-service.panics", "logger"}},
	}
}

// asks has the service with otelprof ask a server for plans.
func asks(what func(http.ResponseWriter, *http.Request, int64)) func(*bench) error {
	return func(b *bench) error { b.plans(planServer(what)); return nil }
}

func plans() []fault {
	return []fault{
		{name: "plans_flap", what: "a plan, none, a broken one, 502, in turn", prepare: asks(flapping)},
		{name: "plans_enormous", what: "a plan of 200 MiB", prepare: asks(enormous)},
		{name: "plans_drip", what: "a plan of a byte each 100 ms", prepare: asks(dripping)},
		{name: "plans_redirect", what: "redirects without end", prepare: asks(redirecting)},
		{name: "plans_mistyped", what: "a picture for a plan", prepare: asks(mistyped)},
		{name: "plans_unsigned", what: "no signature where one is asked for", prepare: func(b *bench) error {
			public, _, err := ed25519.GenerateKey(nil)
			if err != nil {
				return err
			}
			der, err := x509.MarshalPKIXPublicKey(public)
			if err != nil {
				return err
			}
			file := filepath.Join(b.folder, "key.pub.pem")
			if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
				return err
			}
			b.set("OTELPROF_PLAN_PUBLIC_KEY", file)
			b.plans(planServer(unsigned))
			return nil
		}},
	}
}

// viewers is how many clients hammer the page.
const viewers = 64

func neighbours() []fault {
	return []fault{{name: "viewer_hammered", what: strconv.Itoa(viewers) + " clients of the page for a minute", lasts: time.Minute, begin: func(ctx context.Context, b *bench) (func(), error) {
		ctx, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		paths := []string{"/", "/api/v1/regions", "/api/v1/sessions", "/api/v1/causal/profile"}
		for i := range viewers {
			running.Go(func() {
				client := &http.Client{Timeout: 10 * time.Second}
				defer client.CloseIdleConnections()
				for n := i; ctx.Err() == nil; n++ {
					_ = get(client, b.twins[ours].Viewer+paths[n%len(paths)])
				}
			})
		}
		return func() { stop(); running.Wait() }, nil
	}}}
}

// then waits for a moment after begin, so that services end in the middle of what it has begun.
func then(begin func(context.Context, *bench) (func(), error)) func(context.Context, *bench) (func(), error) {
	return func(ctx context.Context, b *bench) (func(), error) {
		end, err := begin(ctx, b)
		time.Sleep(time.Second)
		return end, err
	}
}

// harmOurs has the service with otelprof alone do something.
func harmOurs(kind string) func(context.Context, *bench) (func(), error) {
	return func(ctx context.Context, b *bench) (func(), error) { return b.twins[ours].harm(ctx, kind, 0) }
}

func endings() []fault {
	hung := fault{name: "term_hung_disk", what: "SIGTERM while a write takes 10 s", terminates: true}
	hung.prepare, hung.begin = written(nil, 10*time.Second)
	hung.begin = then(hung.begin)
	return []fault{
		{name: "term_starting", what: "SIGTERM before the first request", terminates: true, idle: true},
		{name: "term_loaded", what: "SIGTERM under load", terminates: true},
		{name: "term_recording", what: "SIGTERM while a recording is made", terminates: true, begin: then(harmOurs("record"))},
		{name: "term_analysing", what: "SIGTERM while a recording is analysed", terminates: true, begin: harmOurs("analyse")},
		{name: "term_experiment", what: "SIGTERM in an experiment", terminates: true, prepare: asks(experimenting), begin: harmOurs("experiment")},
		{name: "term_slow_collector", what: "SIGTERM while exports take 10 s", terminates: true, begin: then(answers(slow))},
		hung,
		{name: "term_dripping_plan", what: "SIGTERM while a plan drips in", terminates: true, prepare: asks(dripping)},
	}
}

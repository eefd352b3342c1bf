package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/spans"
)

const (
	// endTime is how long a program may take to end after an interrupt, and startTime to accept
	// connections.
	endTime   = 20 * time.Second
	startTime = 30 * time.Second
)

// duet runs the old version and another program at once, each on its half of the processors. Which
// starts first, and has which half, is left to chance.
func (o *options) duet(ctx context.Context, dir, beside string) (duet, error) {
	files := [2]string{o.base, beside}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return duet{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what stays is removed with the folder above
	// Before any starts: a file that is written to while another program starts cannot be run.
	for i, file := range files {
		if err := copyProgram(file, ownCopy(filepath.Join(dir, fmt.Sprint(i)), file)); err != nil {
			return duet{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	ports, err := freePorts()
	if err != nil {
		return duet{}, err
	}
	halves := o.halves()
	if rand.IntN(2) == 0 {
		halves[0], halves[1] = halves[1], halves[0]
	}
	var measured [2]sample
	var failed [2]error
	first := rand.IntN(2)
	done := make(chan struct{})
	for _, i := range []int{first, 1 - first} {
		go func() {
			defer func() { done <- struct{}{} }()
			measured[i], failed[i] = o.once(ctx, filepath.Join(dir, fmt.Sprint(i)), files[i], ports[i], halves[i])
		}()
	}
	<-done
	<-done
	if ctx.Err() != nil {
		return duet{}, errors.New("interrupted")
	}
	return duet{measured[0], measured[1]}, errors.Join(failed[0], failed[1])
}

// copyProgram gives a run an executable of its own. Where the pages of a file lie in memory makes a
// program slower or faster for as long as they are cached, and with it each run of that file (T.
// Kalibera, L. Bulej and P. Tuma, Benchmark precision and random initial state, 2005): of two equal
// builds, one was slower in nearly all of 40 checks, by 1.1 % in the mean. With copies that is left
// to chance, run by run.
func copyProgram(file, to string) error {
	path, err := exec.LookPath(file)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o755)
}

// ownCopy is the copy of a program for the run of a data folder.
func ownCopy(dir, file string) string { return dir + ".program" + filepath.Ext(file) }

// halves are the processors of both programs, none where they share all: on one processor, or where
// the system cannot keep them apart.
func (o *options) halves() (halves [2][]int) {
	all, err := perf.Processors()
	if o.share || err != nil || len(all) < 2 {
		return halves
	}
	half := len(all) / 2
	return [2][]int{all[:half], all[half : 2*half]}
}

// start starts a program on some processors.
func start(cmd *exec.Cmd, processors []int) error {
	if len(processors) == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unpin, err := perf.Pin(processors)
	if err != nil {
		return err
	}
	defer unpin()
	return cmd.Start()
}

// once runs a program, and reads what it has measured.
func (o *options) once(ctx context.Context, dir, file, port string, processors []int) (sample, error) {
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return nil, err
	}
	args := make([]string, len(o.args))
	for i, arg := range o.args {
		args[i] = withPort(arg, port)
	}
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Path = ownCopy(dir, file)
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), "OTELPROF_DATA_DIR="+dir, "OTEL_TRACES_SAMPLER=always_off", "OTELPROF_REPLAY=off", "OTELPROF_VIEWER=off", "OTELPROF_EXPERIMENTS=off")
	waited := interruptWithContext(cmd)
	began := time.Now()
	if err := start(cmd, processors); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	ended := make(chan error, 1)
	running, over := context.WithCancel(ctx)
	defer over()
	go func() {
		end := cmd.Wait()
		waited()
		ended <- end
		over()
	}()
	// An interrupt more would end a program that shuts down, and one that never ends is killed.
	interrupted := false
	interrupt := sync.OnceFunc(func() {
		interrupted = !errors.Is(cmd.Process.Signal(os.Interrupt), os.ErrProcessDone)
		time.AfterFunc(endTime, func() { _ = cmd.Process.Kill() })
	})
	if o.load != "" {
		if err = accepts(running, port); err == nil {
			_, err = output(ctx, "", "sh", "-c", withPort(o.load, port))
		}
		interrupt()
	}
	after := time.NewTimer(o.each)
	defer after.Stop()
	var end error
	select {
	case end = <-ended:
	case <-after.C:
		interrupt()
		end = <-ended
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case end != nil && !interrupted:
		return nil, fmt.Errorf("%s: %w\n%s", file, end, said.String())
	case err != nil:
		return nil, fmt.Errorf("%s: load: %w\n%s", file, err, said.String())
	}
	return readSample(ctx, dir, file, time.Since(began))
}

// interruptWithContext has a program interrupted when its context ends, and killed when endTime is
// over, or when this process is interrupted once more. It returns what to call after Wait.
func interruptWithContext(cmd *exec.Cmd) (waited func()) {
	stop := func() {}
	cmd.Cancel = func() error {
		var again context.Context // until one more interrupt
		again, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(again, func() { _ = cmd.Process.Kill() })
		return cmd.Process.Signal(os.Interrupt)
	}
	cmd.WaitDelay = endTime
	return func() { stop() } // Wait has waited for Cancel, which sets it
}

// accepts waits until a program accepts connections on a port; ctx ends with the program.
func accepts(ctx context.Context, port string) error {
	deadline := time.Now().Add(startTime)
	for {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		switch {
		case err == nil:
			return c.Close()
		case ctx.Err() != nil:
			return errors.New("the program ended before it accepted connections on {port}")
		case time.Now().After(deadline):
			return fmt.Errorf("no one accepts connections on {port} within %v: %w", startTime, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// freePorts returns two ports of the loopback address that are free now: each is chosen while the
// other is taken.
func freePorts() (ports [2]string, err error) {
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports, err
		}
		defer l.Close() //nolint:errcheck // nothing was accepted
		if _, ports[i], err = net.SplitHostPort(l.Addr().String()); err != nil {
			return ports, err
		}
	}
	return ports, nil
}

// readSample reads a program's data folder.
func readSample(ctx context.Context, dir, program string, took time.Duration) (sample, error) {
	reader, err := saved.NewReader(saved.WithMaxSessions(1))
	if err != nil {
		return nil, err
	}
	err = saved.EachFile([]string{dir}, func(name string, in io.Reader) error { return reader.Read(ctx, name, in) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	out := sample{}
	regions := reader.Data().Regions
	for i := range regions {
		out.add(&regions[i], took)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no region: the program must use otelprof.Setup or Wrap, and call Shutdown at its end", program)
	}
	return out, nil
}

// leastOf is how many spans a run must have for a quantile: a hundred beyond it make that of one
// run as good as its mean.
var leastOf = map[float64]uint64{50: 100, 90: 200, 99: 1000, 99.9: 10_000}

// add adds the metrics of a region. That of the rate is the time for each span, so that all are
// better if they are smaller.
func (s sample) add(r *spans.RegionStats, took time.Duration) {
	if r.Count == 0 {
		return
	}
	at := func(metric string) cell { return cell{r.Scope.Name, r.Name, metric} }
	s[at("mean")] = float64(r.Total) / float64(r.Count)
	s[at("rate")] = float64(took) / float64(r.Count)
	if r.Durations == nil {
		return
	}
	for percent, least := range leastOf {
		if r.Durations.Count() >= least {
			s[at(fmt.Sprintf("p%g", percent))] = float64(r.Durations.Percentile(percent))
		}
	}
}

// A tail keeps the end of what a program writes. It is no [io.ReaderFrom], which would keep all.
type tail struct{ kept []byte }

const mostSaid = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	if len(t.kept) > 16*mostSaid {
		t.kept = bytes.Clone(t.kept[len(t.kept)-mostSaid:])
	}
	t.kept = append(t.kept, p...)
	return len(p), nil
}

func (t *tail) String() string {
	return strings.TrimSpace(string(t.kept[max(0, len(t.kept)-mostSaid):]))
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
)

// replayFigures compare spans, a lock and a channel between recordings to those of a controller
// that makes none.
func replayFigures() []figure {
	without := func() (*side, *causal.Controller) { return controlled("otelprof-without-replay") }
	with := func() (*side, *causal.Controller) {
		s, c := controlled("otelprof-replay", causal.WithReplay())
		// Without a look at the profile the next one begins five minutes after this one.
		if err := c.Record(context.Background(), causal.MinWindow); err != nil {
			panic(err)
		}
		return s, c
	}
	figureOf := func(name string, records bool, do func(*side) *side) figure {
		made := func(of func() (*side, *causal.Controller)) func() *side {
			return func() *side { s, _ := of(); return do(s) }
		}
		return figure{
			name: "replay_idle_" + name, ours: made(with), peer: made(without),
			records: records, perTrace: batch, goroutines: 1, procs: 1, target: target{x: 0.98},
		}
	}
	return []figure{
		figureOf("spans", false, cycling),
		figureOf("mutex", true, func(s *side) *side {
			var m causal.Mutex
			s.record = func(float64) { m.Lock(); m.Unlock() } //nolint:staticcheck // That is what is measured.
			return s
		}),
		figureOf("channel", true, func(s *side) *side {
			ch := causal.NewChan[float64](1)
			s.record = func(v float64) { ch.Send(v); ch.Receive() }
			return s
		}),
	}
}

// runReplay writes what a saturated service does while it is recorded, for 3 s where an arm takes
// 100 ms, and in a minute with one recording.
func runReplay(w io.Writer, match *regexp.Regexp, rounds int, arm time.Duration) error {
	window := min(max(30*arm, causal.MinWindow), causal.MaxWindow)
	minute := max(600*arm, 2*window)
	if name := "replay_recording_service"; match.MatchString(name) {
		x, err := withService(func(s *service) ([]ratio, error) { return s.recorded(min(rounds, 7), window) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := writeRatios(w, name, x, 0.85, "cpu"); err != nil {
			return err
		}
	}
	if name := "replay_recording_minute"; match.MatchString(name) {
		x, err := withService(func(s *service) ([]ratio, error) { return s.minutes(min(rounds, 2), minute, window) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := writeRatios(w, name, x, 0.99, "cpu"); err != nil {
			return err
		}
	}
	return runAnalysis(w, match, rounds, arm)
}

// A ratio is the throughput with a recording beside that without: for each second of processor
// time, which is what the recording changes, and for each second on the wall, which is that on a
// machine that does nothing else.
type ratio struct{ cpu, wall, perSecond float64 }

// writeRatios writes the ratios by a clock, "cpu" or "wall".
func writeRatios(w io.Writer, name string, x []ratio, least float64, clock string) error {
	var cpu, wall, rates []float64
	for _, r := range x {
		cpu, wall, rates = append(cpu, r.cpu), append(wall, r.wall), append(rates, r.perSecond)
	}
	told := wall
	if clock == "cpu" {
		told = cpu
	}
	_, err := fmt.Fprintf(w, "ratio %s x=%.3f x_lo=%.3f x_hi=%.3f x_wall=%.3f requests_per_second=%.0f rounds=%d clock=%s target=x>=%v holds=%s\n",
		name, quantile(told, 0.5), quantile(told, 0.25), quantile(told, 0.75), quantile(wall, 0.5), quantile(rates, 0.5), len(x), clock, least, yes(quantile(told, 0.5) >= least))
	return err
}

// A service answers requests that take 100 µs of a processor each, in a span and over HTTP, to
// clients that ask again at once.
type service struct {
	controller *causal.Controller
	work       int // steps of burn
	answered   atomic.Int64
}

const (
	requestWork = 100 * time.Microsecond
	clients     = 8
)

// withService runs the service for as long as do takes.
func withService(do func(*service) ([]ratio, error)) (x []ratio, err error) {
	side, c := controlled("otelprof-replay-service")
	defer func() { err = errors.Join(err, side.close()) }()
	s := &service{controller: c, work: stepsOf(requestWork)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: s.handler(side.tracer), ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	ctx, stop := context.WithCancel(context.Background())
	failed := make(chan error, clients)
	for range clients {
		wg.Go(func() {
			if err := ask(ctx, listener.Addr().String()); err != nil && ctx.Err() == nil {
				failed <- err
			}
		})
	}
	time.Sleep(time.Second) // warm
	x, err = do(s)
	stop()
	err = errors.Join(err, server.Close())
	wg.Wait()
	select {
	case other := <-failed:
		err = errors.Join(err, other)
	default:
	}
	return x, err
}

// burn computes for a number of steps, independently of the time without a processor.
func burn(steps int) (x uint64) {
	for i := range steps {
		x = x*6364136223846793005 + uint64(i)
	}
	return x
}

// stepsOf returns how many steps take d on an idle processor.
func stepsOf(d time.Duration) int {
	const some = 100_000
	best := time.Hour
	for range 20 {
		begin := time.Now()
		burnt.Add(burn(some))
		best = min(best, time.Since(begin))
	}
	return int(float64(some) * float64(d) / float64(best))
}

var burnt atomic.Uint64 // so that what was computed is used

func (s *service) handler(tr trace.Tracer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, span := tr.Start(r.Context(), "request")
		x := burn(s.work)
		span.End()
		_, _ = fmt.Fprintf(w, "%04d", x%10_000)
		s.answered.Add(1)
	})
}

// ask sends requests over one connection, the next when the last is answered, with as little work
// as it can.
func ask(ctx context.Context, address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // Nothing is left in it.
	request := []byte("GET / HTTP/1.1\r\nHost: service\r\n\r\n")
	reader := bufio.NewReader(conn)
	for ctx.Err() == nil {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		for length := 0; ; { // to the empty line, and the four bytes of the answer
			line, err := reader.ReadSlice('\n')
			if err != nil {
				return err
			}
			if length = len(line); length == 2 {
				break
			}
		}
		if _, err := reader.Discard(4); err != nil {
			return err
		}
	}
	return nil
}

// A pace is how fast the service was.
type pace struct{ perCPU, perSecond float64 }

// during returns the pace while f runs.
func (s *service) during(f func() error) (pace, error) {
	before, n := time.Now(), s.answered.Load()
	began, err := readClocks()
	if err != nil {
		return pace{}, err
	}
	if err := f(); err != nil {
		return pace{}, err
	}
	ended, err := readClocks()
	answered := float64(s.answered.Load() - n)
	return pace{answered / (ended.cpu - began.cpu).Seconds(), answered / time.Since(before).Seconds()}, err
}

// beside compares the pace with recordings to that of as long without.
func (s *service) beside(rounds int, length time.Duration, recording func() (pace, error)) (x []ratio, err error) {
	still := func() (pace, error) { return s.during(func() error { time.Sleep(length); return nil }) }
	run := func(side func() (pace, error)) (pace, error) { return side() }
	err = inTurn(rounds, recording, still, run, func(with, without pace) {
		x = append(x, ratio{with.perCPU / without.perCPU, with.perSecond / without.perSecond, without.perSecond})
	})
	return x, err
}

// recorded compares windows that are recorded, without their analysis, to as long without.
func (s *service) recorded(rounds int, window time.Duration) ([]ratio, error) {
	return s.beside(rounds, window, func() (pace, error) { return s.recording(window) })
}

// recording returns the pace while a window is open, from before the trace is switched on until it
// is off.
func (s *service) recording(window time.Duration) (p pace, err error) {
	ended := make(chan error, 1)
	p, err = s.during(func() error {
		go func() { ended <- s.controller.Record(context.Background(), window) }()
		for time.Sleep(window); s.controller.Status().Recording.Phase != "analysing"; time.Sleep(time.Millisecond) {
			select {
			case err := <-ended:
				ended <- err
				return err
			default:
			}
		}
		return nil
	})
	return p, errors.Join(err, <-ended)
}

// minutes compares minutes with one recording and its analysis to minutes without.
func (s *service) minutes(rounds int, minute, window time.Duration) ([]ratio, error) {
	return s.beside(rounds, minute, func() (pace, error) {
		return s.during(func() error {
			over := time.After(minute)
			err := s.controller.Record(context.Background(), window)
			<-over
			return err
		})
	})
}

// Package control is what command realworld adds to a program of others: the wrap that a user of
// otelprof writes, and a way to ask and to change that program while it runs. It is a module of its
// own, so that programs with other versions of its command's dependencies import it. Where a
// program is a copy, so is this.
//
// With the environment variable [EnvAddress] there is a server at that address, for the command
// alone:
//
//	POST /speed?delay=NAME&speedup=0.25   shortens the delays of that name by a part in [0, 1)
//	POST /record?for=3s                   has replay record and analyse one window now
//	POST /plan?plan=TEXT                  puts a plan in force, if [EnvExperiments] is set
//	POST /stop                            ends it
//	GET  /profile                         what was found out until now, as profile.Read reads it
//	GET  /trace?for=3s                    an execution trace of that long
//
// It ends the program when standard input ends, so that the program does not outlive the command.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/spans"
)

// EnvAddress is the environment variable with the address of the server.
const EnvAddress = "REALWORLD_CONTROL"

// EnvExperiments is the environment variable that opts in to plans, within any limits, if it is
// "on".
const EnvExperiments = "REALWORLD_EXPERIMENTS"

// caps are wider than any plan's limits.
var caps = plan.Limits{PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(time.Hour)}

// controller is the controller of all providers of the program. With the first of them the server
// starts.
var controller = sync.OnceValue(func() *causal.Controller {
	var options []causal.Option
	if os.Getenv(EnvExperiments) == "on" {
		options = append(options, causal.WithExperiments(caps))
	}
	c, err := causal.NewController(options...)
	if err != nil {
		fail(err)
	}
	if address := os.Getenv(EnvAddress); address != "" {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
		if err != nil {
			fail(err)
		}
		go func() { fail(http.Serve(l, handler(c))) }()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	return c
})

// fail ends the program: a program that cannot be asked is of no use to the command.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "control:", err)
	os.Exit(1)
}

// Wrap wraps a provider of the program, as its author would to profile it.
func Wrap(tp oteltrace.TracerProvider) oteltrace.TracerProvider {
	return spans.WrapTracerProvider(tp, spans.WithHook(controller().Hook()), spans.WithMarks())
}

// factors are what delays are multiplied by, as *atomic.Uint64 with the bits of a float64, by name.
var factors sync.Map

func factor(name string) *atomic.Uint64 {
	if f, ok := factors.Load(name); ok {
		return f.(*atomic.Uint64)
	}
	one := new(atomic.Uint64)
	one.Store(math.Float64bits(1))
	f, _ := factors.LoadOrStore(name, one)
	return f.(*atomic.Uint64)
}

// set shortens the delay of that name.
func set(name string, speedup float64) { factor(name).Store(math.Float64bits(1 - speedup)) }

// Scale returns the mean and the standard deviation of the delay of that name as they are to be
// now.
func Scale(name string, mean, deviation time.Duration) (time.Duration, time.Duration) {
	f := math.Float64frombits(factor(name).Load())
	return time.Duration(f * float64(mean)), time.Duration(f * float64(deviation))
}

// Sleep waits for the delay of that name, which is distributed normally.
func Sleep(name string, mean, deviation time.Duration) {
	mean, deviation = Scale(name, mean, deviation)
	time.Sleep(mean + time.Duration(rand.NormFloat64()*float64(deviation)))
}

// errRequest is wrapped by errors that the client can mend.
var errRequest = errors.New("control")

func handler(c *causal.Controller) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, serve func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := serve(w, r)
			switch {
			case errors.Is(err, errRequest):
				http.Error(w, err.Error(), http.StatusBadRequest)
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	handle("POST /speed", speed)
	handle("POST /record", func(_ http.ResponseWriter, r *http.Request) error {
		d, err := window(r)
		if err != nil {
			return err
		}
		return c.Record(r.Context(), d)
	})
	handle("POST /plan", func(_ http.ResponseWriter, r *http.Request) error {
		p, err := plan.Parse([]byte(r.FormValue("plan")))
		if err != nil {
			return fmt.Errorf("%w: %w", errRequest, err)
		}
		return c.Apply(p)
	})
	handle("POST /stop", func(http.ResponseWriter, *http.Request) error { c.StopPlan("enough"); return nil })
	handle("GET /profile", func(w http.ResponseWriter, _ *http.Request) error { return json.NewEncoder(w).Encode(c.Profile()) })
	handle("GET /trace", sendTrace)
	return mux
}

// speed shortens a delay.
func speed(_ http.ResponseWriter, r *http.Request) error {
	name, text := r.FormValue("delay"), r.FormValue("speedup")
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s < 1) {
		return fmt.Errorf("%w: speedup %q: must be in [0, 1)", errRequest, text)
	}
	if _, ok := factors.Load(name); !ok {
		return fmt.Errorf("%w: delay %q: must be one that has been waited for", errRequest, name)
	}
	set(name, s)
	return nil
}

// window returns for how long to record.
func window(r *http.Request) (time.Duration, error) {
	d, err := time.ParseDuration(r.FormValue("for"))
	if err != nil || d <= 0 || d > causal.MaxWindow {
		return 0, fmt.Errorf("%w: for %q: must be in (0, %v]", errRequest, r.FormValue("for"), causal.MaxWindow)
	}
	return d, nil
}

// sendTrace sends an execution trace. It is kept until it is whole, so that to send it is no part
// of it.
func sendTrace(w http.ResponseWriter, r *http.Request) error {
	d, err := window(r)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := trace.Start(&text); err != nil {
		return err
	}
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
	trace.Stop()
	_, err = w.Write(text.Bytes())
	return err
}

// Shop is a small web shop that shows what otelprof does: an HTTP service, an SQL
// database, a contended lock and a worker pipeline under a load generator, with the
// viewer open and causal experiments running.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal/plan"
	_ "github.com/otelprof/otelprof/causal/remote/opamp" // for OTELPROF_OPAMP_ENDPOINT
	"github.com/otelprof/otelprof/pmuattrs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first Ctrl-C the shop ends in good order; a second one kills it.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// settings are the command's flags.
type settings struct {
	duration time.Duration // 0: until ctx ends
	listen   string
	plan     string
	data     string
	clients  int
	measure  string        // side, with -for; "" for the demo
	warm     time.Duration // what of a measured run is not measured
}

func parseFlags(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&s.duration, "for", 0, "run this long; 0 runs until Ctrl-C")
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` of the viewer")
	flags.StringVar(&s.plan, "plan", "", "causal plan `file`, written if it is missing (default plan.yaml beside the sources); "+noPlan+" for recordings alone")
	flags.StringVar(&s.data, "data", "", "`folder` of the database and the OTLP-JSON files (default in the user's cache folder)")
	flags.IntVar(&s.clients, "clients", 8, "closed-loop clients of the load generator")
	flags.StringVar(&s.measure, "measure", "", "print what requests take, and nothing else, on `side` "+sideOtelprof+", with all of the demo but experiments, or "+sideSDK+", the OpenTelemetry SDK alone; with -for")
	flags.DurationVar(&s.warm, "warm", -1, "what of -for is not measured, with -measure (default a quarter)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.warm < 0 {
		s.warm = s.duration / 4
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("argument %q: unexpected", flags.Arg(0))
	case s.duration < 0:
		return s, fmt.Errorf("-for %v: must not be negative", s.duration)
	case s.clients < 1 || s.clients > 1000:
		return s, fmt.Errorf("-clients %d: must be in [1, 1000]", s.clients)
	case s.measure != "" && s.measure != sideOtelprof && s.measure != sideSDK:
		return s, fmt.Errorf("-measure %q: must be %s or %s", s.measure, sideOtelprof, sideSDK)
	case s.measure != "" && s.duration == 0:
		return s, fmt.Errorf("-measure %s: must come with -for", s.measure)
	}
	if s.data == "" {
		s.data = defaultDataDir()
	}
	return s, nil
}

func defaultDataDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "data"
	}
	return filepath.Join(cache, "otelprof", "shop")
}

// run is the whole demo: set up otelprof, open the shop, put load on it, and report.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	files := filepath.Join(cfg.data, "otlp")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return err
	}
	if cfg.measure != "" {
		return measure(ctx, cfg, files, stdout, stderr)
	}
	p, err := preparePlan(cfg.plan, cfg.data, time.Now())
	if err != nil {
		return err
	}

	// What must outlive ctx, ending in good order, gets a context without its end.
	background := context.WithoutCancel(ctx)
	prof, err := setUp(background, cfg, files, p, stderr)
	if err != nil {
		return err
	}
	defer shutdown(background, prof, stderr)

	shop, err := openShop(background, cfg.data, prof.TracerProvider(), prof.MeterProvider())
	if err != nil {
		return err
	}
	printStart(stdout, prof.ViewerURL(), shop.URL(), p, cfg.data)

	if cfg.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cfg.duration)
		defer cancel()
	}
	load := newLoad(shop.URL(), cfg.clients)
	_ = prof.Causal().Profile() // a first read, so that the first recordings are made at once
	done := showProgress(stderr, cfg.duration, load, prof.Causal())
	// End the experiments while the load is still there: an arm measured while the
	// clients leave one by one would be worth nothing.
	loadCtx, endLoad := context.WithCancel(background)
	defer endLoad()
	defer context.AfterFunc(ctx, func() {
		_ = prof.Causal().Shutdown(background) // it has nothing to say
		endLoad()
	})()
	err = load.Run(loadCtx)
	done()

	err = errors.Join(err, shop.Close(background))
	return errors.Join(err, report(stdout, load, prof.TracerProvider().Regions(), prof.Causal().Profile()))
}

// setUp sets otelprof up with all that the demo shows, and with the plan file if there is one.
func setUp(ctx context.Context, cfg settings, files, planFile string, stderr io.Writer) (*otelprof.Profiler, error) {
	options := everything(cfg, files, stderr)
	if planFile != "" && planFile != noPlan {
		options = append(options, otelprof.WithPlanFile(planFile))
	}
	return otelprof.Setup(ctx, options...)
}

// shutdown exports what is left, for 10 s at most.
func shutdown(ctx context.Context, prof *otelprof.Profiler, stderr io.Writer) {
	flush, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// The demo has done its work even if a backend did not take everything.
	if lost := prof.Shutdown(flush); lost != nil {
		fmt.Fprintln(stderr, "shop:", lost)
	}
}

// everything are the options of the demo, but for the plan.
func everything(cfg settings, files string, stderr io.Writer) []otelprof.Option {
	return []otelprof.Option{
		otelprof.WithServiceName("shop"),
		otelprof.WithViewer(cfg.listen), // if the port is in use, that is logged, and the shop runs on
		otelprof.WithDataDir(files),
		// Experiments insert delays, so a program opts in and caps them. A plan can
		// tighten these limits, never loosen them.
		otelprof.WithExperiments(plan.Limits{
			PerSpan:  plan.Duration(100 * time.Millisecond),
			PerTrace: plan.Duration(time.Second),
			Duty:     1,
			Total:    plan.Duration(time.Hour),
		}),
		otelprof.WithBreaker(plan.Abort{P99Ratio: 100, ErrDelta: 1, Window: plan.Duration(time.Minute), MinSamples: 1000}),
		countOwnSpans(),
		otelprof.WithStacks(),
		otelprof.WithSchedule(),
		otelprof.WithLogger(slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))),
	}
}

// countOwnSpans counts cycles and the like, or CPU time where there is no PMU, in 1 of 4 spans
// of the shop's own and in 1 of 100 of the libraries'. The shop's hardly wait, and so lose
// little by being locked to a thread.
func countOwnSpans() otelprof.Option {
	return otelprof.WithCounters(pmuattrs.WithScopes("shop/*", 4))
}

func printStart(w io.Writer, viewer, shop, plan, data string) {
	if viewer == "" {
		viewer = "off"
	}
	fmt.Fprintf(w, "viewer  %s\n", viewer)
	fmt.Fprintf(w, "shop    %s  (POST /orders, GET /orders?last=8, GET /products?category=desk)\n", shop)
	switch {
	case plan == noPlan:
		fmt.Fprintln(w, "plan    none; recordings show what would help")
	case plan != "":
		fmt.Fprintf(w, "plan    %s  edit it while this runs\n", plan)
	default:
		fmt.Fprintf(w, "plan    from %s\n", cmp.Or(os.Getenv("OTELPROF_OPAMP_ENDPOINT"), os.Getenv("OTELPROF_PLAN_URL")))
	}
	fmt.Fprintf(w, "data    %s\n", data)
	if endpoint := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint != "" {
		fmt.Fprintf(w, "OTLP    %s\n", endpoint)
	}
	fmt.Fprintln(w, "Ctrl-C ends it and prints the answer.")
}

// Command pair is one of two services for the suite: shop, whose clients look at a cart, one after
// the other, and stock, which it asks over HTTP. What a region of stock is worth to the shop can be
// computed: a cart takes the time of both, one after the other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal/plan"
)

// What each of them takes.
const (
	thinking  = 4 * time.Millisecond
	selecting = 4 * time.Millisecond
)

// Both are wider than those of the plan.
var (
	caps    = plan.Limits{PerSpan: plan.Duration(50 * time.Millisecond), PerTrace: plan.Duration(time.Second), Duty: 1, Total: plan.Duration(time.Hour)}
	breaker = plan.Abort{P99Ratio: 100, ErrDelta: 1, Window: plan.Duration(time.Minute), MinSamples: 1000}
)

func main() {
	service := flag.String("service", "", "shop or stock")
	listen := flag.String("listen", "", "`address` of stock")
	stocks := flag.String("stocks", "", "`addresses` of stocks, with commas, that the shop asks in turn")
	clients := flag.Int("clients", 2, "of the shop")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *service, *listen, strings.Split(*stocks, ","), *clients); err != nil {
		fmt.Fprintln(os.Stderr, "pair:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, service, listen string, stocks []string, clients int) error {
	prof, err := otelprof.Setup(context.Background(), otelprof.WithServiceName(service), otelprof.WithExperiments(caps), otelprof.WithBreaker(breaker))
	if err != nil {
		return err
	}
	switch service {
	case "shop":
		shop(ctx, stocks, clients)
	case "stock":
		err = stock(ctx, listen)
	default:
		err = fmt.Errorf("-service %q: must be shop or stock", service)
	}
	background, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, prof.Shutdown(background))
}

func stock(ctx context.Context, listen string) error {
	tracer := otel.Tracer("stock")
	items := func(w http.ResponseWriter, r *http.Request) {
		_, span := tracer.Start(r.Context(), "SELECT items")
		time.Sleep(selecting)
		span.End()
		_, _ = io.WriteString(w, "3 items") // the client may be gone
	}
	server := &http.Server{Addr: listen, Handler: otelhttp.NewHandler(http.HandlerFunc(items), "GET /items"), ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shop looks at carts until ctx ends. Where a stock is gone, the cart has an error, and the next
// one asks another.
func shop(ctx context.Context, stocks []string, clients int) {
	tracer := otel.Tracer("shop")
	client := &http.Client{Transport: otelhttp.NewTransport(http.DefaultTransport), Timeout: time.Second}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := c; ctx.Err() == nil; i++ {
				cart(tracer, client, stocks[i%len(stocks)])
			}
		})
	}
	wg.Wait()
}

func cart(tracer trace.Tracer, client *http.Client, address string) {
	ctx, span := tracer.Start(context.Background(), "GET /cart")
	defer span.End()
	_, think := tracer.Start(ctx, "render")
	time.Sleep(thinking)
	think.End()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/items", http.NoBody)
	if err != nil {
		panic(err) // the address is a flag
	}
	response, err := client.Do(r)
	if err != nil {
		span.RecordError(err)
		return
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
}

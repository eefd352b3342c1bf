// Command randmutex is a service whose requests draw from one source with a lock. It is built with
// -ldflags "-X main.plant=3" to have a source that is slower by 3 %.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
)

const clients = 4

var plant string // percent

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	prof, err := otelprof.Setup(ctx, otelprof.WithServiceName("randmutex"))
	if err != nil {
		log.Fatal(err)
	}
	percent, _ := strconv.ParseFloat(plant, 64) // "" is none
	serve(ctx, prof.TracerProvider().Tracer("randmutex"), 1+percent/100)
	last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := prof.Shutdown(last); err != nil {
		log.Print(err)
	}
}

func serve(ctx context.Context, tracer trace.Tracer, slower float64) {
	var source sync.Mutex
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				ctx, request := tracer.Start(ctx, "request")
				_, render := tracer.Start(ctx, "render")
				compute(60_000)
				render.End()
				time.Sleep(2 * time.Millisecond)
				source.Lock()
				_, draw := tracer.Start(ctx, "rand.Int63n")
				compute(int(100_000 * slower))
				draw.End()
				source.Unlock()
				request.End()
			}
		})
	}
	wg.Wait()
}

// compute takes some ns for each step.
func compute(steps int) {
	var page [4096]byte
	for i := range steps {
		page[i%len(page)] += byte(i ^ i>>7)
	}
	runtime.KeepAlive(page)
}

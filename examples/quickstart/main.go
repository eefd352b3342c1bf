// Quickstart is the least that gives regions, sessions and the viewer.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/otelprof/otelprof"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	prof, err := otelprof.Setup(ctx, otelprof.WithServiceName("quickstart"), otelprof.WithViewer("127.0.0.1:8080"))
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = prof.Shutdown(last)
	}()
	tracer := prof.TracerProvider().Tracer("quickstart")
	for i := 0; ctx.Err() == nil; i++ { // until Ctrl-C
		_, span := tracer.Start(ctx, "compute")
		time.Sleep(time.Duration(i%10) * time.Millisecond) // your code here
		span.End()
	}
}

// Quickstart is the least that gives regions, sessions and the viewer.
package main

import (
	"context"
	"log"
	"time"

	"github.com/otelprof/otelprof"
)

func main() {
	ctx := context.Background()
	prof, err := otelprof.Setup(ctx, otelprof.WithServiceName("quickstart"), otelprof.WithViewer("127.0.0.1:8080"))
	if err != nil {
		log.Fatal(err)
	}
	defer prof.Shutdown(ctx)
	tracer := prof.TracerProvider().Tracer("quickstart")
	for i := range 1000 {
		_, span := tracer.Start(ctx, "compute")
		time.Sleep(time.Duration(i%10) * time.Millisecond) // your code here
		span.End()
	}
}

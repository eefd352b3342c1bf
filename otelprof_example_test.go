package otelprof_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/otelprof/otelprof"
)

func ExampleSetup() {
	ctx := context.Background()
	prof, err := otelprof.Setup(ctx, otelprof.WithServiceName("quickstart"), otelprof.WithViewer("127.0.0.1:0"),
		otelprof.WithLogger(slog.New(slog.DiscardHandler)), otelprof.WithoutGlobals())
	if err != nil {
		log.Fatal(err)
	}
	defer prof.Shutdown(ctx)
	tracer := prof.TracerProvider().Tracer("quickstart")
	for i := range 10 {
		_, span := tracer.Start(ctx, "compute")
		time.Sleep(time.Duration(i%10) * time.Millisecond) // your code here
		span.End()
	}
	for _, region := range prof.TracerProvider().Regions() {
		fmt.Println(region.Name, region.Count)
	}
	// Output: compute 10
}

package otelprof_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof"
)

// A program that has a provider of its own.
func ExampleWrap() {
	defer otel.SetTracerProvider(otel.GetTracerProvider())

	tp := sdktrace.NewTracerProvider() // with your exporters, sampler and resource
	prof, err := otelprof.Wrap(tp)     // in place of otel.SetTracerProvider(tp)
	if err != nil {
		log.Fatal(err)
	}
	defer prof.Shutdown(context.Background()) // with a deadline: see below

	_, span := otel.Tracer("shop").Start(context.Background(), "checkout")
	span.End()
	for _, region := range prof.TracerProvider().Regions() {
		fmt.Println(region.Name, region.Count)
	}
	// Output: checkout 1
}

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

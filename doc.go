// Package otelprof turns OpenTelemetry spans into profiling regions. [Wrap] does so for a program
// that has set up a TracerProvider:
//
//	tp := sdktrace.NewTracerProvider(…)
//	prof, err := otelprof.Wrap(tp) // in place of otel.SetTracerProvider(tp)
//
// OTELPROF_VIEWER=127.0.0.1:8080 in the environment then serves the page. [Setup] makes the
// providers, too:
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	prof, err := otelprof.Setup(ctx, otelprof.WithServiceName("quickstart"), otelprof.WithViewer("127.0.0.1:8080"))
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer func() {
//		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
//		defer cancel()
//		_ = prof.Shutdown(last)
//	}()
//	tracer := prof.TracerProvider().Tracer("quickstart")
//	for i := 0; ctx.Err() == nil; i++ { // until Ctrl-C
//		_, span := tracer.Start(ctx, "compute")
//		time.Sleep(time.Duration(i%10) * time.Millisecond) // your code here
//		span.End()
//	}
//
// Traces, metrics and logs of Setup go to OTLP if the standard environment names an endpoint
// (OTEL_EXPORTER_OTLP_ENDPOINT and its kin), to files with [WithDataDir], and to a web page with
// [WithViewer]. [spans.WrapTracerProvider] alone measures regions and sessions.
//
// # Environment
//
// The SDK's variables (OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES, OTEL_BSP_* …) mean what
// they always mean. Ours stand for options; where both are given, the option counts, but "off" and
// OTELPROF_DISABLED count above all.
//
//	OTELPROF_VIEWER           host:port or off  WithViewer
//	OTELPROF_VIEWER_TOKEN_FILE file             viewer.WithToken, with what is in the file
//	OTELPROF_PROMETHEUS       URL               viewer.WithPrometheus
//	OTELPROF_DATA_DIR         folder            WithDataDir
//	OTELPROF_PLAN_FILE        file              WithPlanFile
//	OTELPROF_PLAN_URL         https URL         WithPlanURL
//	OTELPROF_OPAMP_ENDPOINT   wss or https URL  WithOpAMP, with an import
//	OTELPROF_PLAN_TOKEN_FILE  file              the bearer token for these two
//	OTELPROF_PLAN_PUBLIC_KEY  PEM file          WithPlanKeys
//	OTELPROF_EXPERIMENTS      on or off         WithExperiments, with plan.DefaultLimits
//	OTELPROF_REPLAY           on or off         off: WithoutReplay, and nothing is recorded at all
//	OTELPROF_COUNTERS         on or off         WithCounters, with the default events and sampling
//	OTELPROF_STACKS           on or off         WithStacks, with the default rate
//	OTELPROF_SCHEDULE         on or off         WithSchedule
//	OTELPROF_MARKS            on or off         WithMarks
//	OTELPROF_PROCESS_CONTEXT  on or off         WithProcessContext
//	OTELPROF_TIMES            on, off, patterns WithTimes, in programs built by otelprof build
//	OTELPROF_DISABLED         true or false     true: the plain SDK, without all that is ours
//	OTEL_SDK_DISABLED         true              nothing at all is measured or exported
//	OTEL_PROPAGATORS          formats           tracecontext, baggage or none; with others the program's own one stays
//
// A switch may be spelled true, 1 or yes, and false, 0 or no, in any case.
//
// # What can fail
//
// An option with a bad value makes Setup return an error that names it. A bad value in the
// environment does not: it is logged and left out, and a switch that is not understood is off
// (OTELPROF_DISABLED: on). A public key that cannot be read refuses all plans. A busy port, a
// folder that cannot be written to and an endpoint that cannot be reached are logged once; the
// application runs on, and what is lost is counted, see [Profiler.Exports].
package otelprof

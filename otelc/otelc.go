// Package otelc has a program measured that OpenTelemetry's compile-time instrumentation, otelc,
// builds: no line of the program changes. The module's otel.instrumentation.go imports it, in place
// of what has otelc start the SDK itself, instrumentation/go.opentelemetry.io/otel/init:
//
//	//go:build tools
//
//	package tools
//
//	import (
//		_ "github.com/otelprof/otelprof/otelc"
//		_ "go.opentelemetry.io/otelc/instrumentation/net/http/server"
//		_ "go.opentelemetry.io/otelc/instrumentation/runtime"
//	)
//
// otelc go build then puts a call of [Start] at the beginning of main. All is set by the
// environment, see package otelprof: OTELPROF_VIEWER=127.0.0.1:8080 serves the page. With otelc's
// own start beside it, whichever comes first counts, since otelc ignores all calls of
// otel.SetTracerProvider but the first; [otelprof.Setup] then logs that it is not ours.
//
// A build by otelprof build cannot go through otelc: it resolves what it adds without the flags of
// the build, so that go build -overlay ends in a fingerprint mismatch of the linker.
//
// The rule is otelc.yaml, in the form of otelc 1.0. The module needs github.com/otelprof/otelprof
// in its go.mod; go mod tidy adds it.
package otelc

import (
	"context"
	"log/slog"
	"time"

	"github.com/otelprof/otelprof"
)

// lastWords is how long what has been measured may take to be exported when the program ends.
const lastWords = 5 * time.Second

// Start is [otelprof.Setup], and the function that it returns [otelprof.Profiler.Shutdown]: main
// defers it. A program that os.Exit or a signal ends loses what was not exported yet, seconds as a
// rule. An error of Setup is logged, and the program goes on.
func Start() (end func()) {
	ctx := context.Background()
	p, err := otelprof.Setup(ctx)
	if err != nil {
		slog.Error("otelprof: nothing is measured", slog.Any("cause", err))
		return func() {}
	}
	return func() {
		ctx, cancel := context.WithTimeout(ctx, lastWords)
		defer cancel()
		_ = p.Shutdown(ctx) // which has logged what fails
	}
}

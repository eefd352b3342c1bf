// Command registry runs the registry of CNCF Distribution at the port of the loopback that is its
// argument. Its storage lies in files, and is as slow here as one across a network. At most three
// calls of it are under way, by the registry's own regulator.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"
	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

const (
	config = `version: 0.1
storage:
  slow: {}
  maintenance:
    uploadpurging:
      enabled: false
http:
  secret: loopback
`
	// files is the storage's folder, which is made anew.
	files = "registry-storage"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ports []string) error {
	if len(ports) != 1 {
		return fmt.Errorf("arguments: must be 1 port, are %d", len(ports))
	}
	provider := control.Wrap(sdktrace.NewTracerProvider())
	otel.SetTracerProvider(provider) // the registry's own spans
	logrus.SetLevel(logrus.ErrorLevel)
	if err := os.RemoveAll(files); err != nil {
		return err
	}
	factory.Register("slow", slowFactory{provider.Tracer("storage")})
	parsed, err := configuration.Parse(strings.NewReader(config))
	if err != nil {
		return err
	}
	requests := otelhttp.NewHandler(handlers.NewApp(ctx, parsed), "", otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string {
		return r.Method + " " + r.URL.Path
	}))
	return http.ListenAndServe(net.JoinHostPort("127.0.0.1", ports[0]), requests)
}

// Command benthos runs a stream of Benthos at the port of the loopback that is its argument. A
// message is posted, goes through a workflow by one of four threads of the pipeline, and is the
// answer. The workflow asks for a price, in 12 ms, and for what is in stock, in 8 ms, by two
// branches side by side, and then how to ship it, in 5 ms. The branches are Benthos's own, the
// processors in them are plug-ins of ours.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/integration/realworld/control"
)

// stream is the configuration; the port is to be filled in. Benthos starts a span for each message
// and each processor, with the processor's name.
const stream = `
http:
  enabled: false
logger:
  level: ERROR
tracer:
  otelprof: {}
input:
  http_server:
    address: 127.0.0.1:%s
    path: /post
pipeline:
  threads: 4
  processors:
    - workflow:
        order: [[priced, stocked], [shipped]]
        branches:
          priced:
            processors: [price: {}]
            result_map: root.price = 1
          stocked:
            processors: [stock: {}]
            result_map: root.stock = 1
          shipped:
            processors: [ship: {}]
            result_map: root.shipped = true
output:
  sync_response: {}
`

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benthos:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ports []string) error {
	if len(ports) != 1 {
		return fmt.Errorf("arguments: must be 1 port, are %d", len(ports))
	}
	for name, delay := range map[string]time.Duration{"price": 12 * time.Millisecond, "stock": 8 * time.Millisecond, "ship": 5 * time.Millisecond} {
		err := service.RegisterProcessor(name, service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.Processor, error) {
			return waiting{name, delay}, nil
		})
		if err != nil {
			return err
		}
	}
	err := service.RegisterOtelTracerProvider("otelprof", service.NewConfigSpec(), func(*service.ParsedConfig) (trace.TracerProvider, error) {
		return control.Wrap(sdktrace.NewTracerProvider()), nil
	})
	if err != nil {
		return err
	}
	builder := service.NewStreamBuilder()
	if err := builder.SetYAML(fmt.Sprintf(stream, ports[0])); err != nil {
		return err
	}
	s, err := builder.Build()
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// waiting is a processor that waits, and passes on what it gets.
type waiting struct {
	name  string
	delay time.Duration
}

func (w waiting) Process(_ context.Context, m *service.Message) (service.MessageBatch, error) {
	control.Sleep(w.name, w.delay, w.delay/10)
	return service.MessageBatch{m}, nil
}

func (waiting) Close(context.Context) error { return nil }

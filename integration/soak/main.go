package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/integration/internal/command"
)

func main() {
	command.Main("soak", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) }, syscall.SIGTERM)
}

var errBroken = errors.New("a claim does not hold")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	d := flags.Duration("for", 5*time.Minute, "how long plans follow each other")
	seed := flags.Uint64("seed", rand.Uint64N(1e6), "what plans depend on")
	service := flags.Bool("service", false, "be the service, for the command itself")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *d < time.Second {
		return fmt.Errorf("-for %v: must be a second or more", *d)
	}
	if *service {
		held, err := serve(*d, *seed, stdout)
		if err == nil && !held {
			err = errBroken
		}
		return err
	}
	fmt.Fprintf(stdout, "# soak mode=%s for %v, -seed %d\n", mode(), *d, *seed)
	return soak(ctx, *d, *seed, stdout, stderr)
}

// soak starts the service and asks it until it ends.
func soak(ctx context.Context, d time.Duration, seed uint64, stdout, stderr io.Writer) error {
	collector, end, err := stalling()
	if err != nil {
		return err
	}
	defer end()
	c, errClients := newClients()
	self, err := os.Executable()
	if err := errors.Join(err, errClients); err != nil {
		return err
	}
	service := exec.CommandContext(ctx, self, "-service", "-for", d.String(), "-seed", fmt.Sprint(seed))
	service.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_EXPORTER_OTLP_TIMEOUT=2000", "OTEL_SERVICE_NAME=soak", "OTEL_METRIC_EXPORT_INTERVAL=1000")
	service.Stderr = stderr
	out, err := service.StdoutPipe()
	if err != nil {
		return err
	}
	if err := service.Start(); err != nil {
		return err
	}
	said := bufio.NewReader(out)
	url, err := said.ReadString('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("the service does not say where it is: %w", err), service.Wait())
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	c.url = strings.TrimSpace(url)
	asked := make(chan struct{})
	go func() { c.run(asking); close(asked) }()
	_, err = said.ReadString('\n') // over, or it has died
	stop()
	<-asked
	if err == nil {
		_, err = io.Copy(stdout, said)
	}
	c.tell(stdout)
	failed := c.allFailed()
	fmt.Fprintf(stdout, "soak mode=%s claim=answers ok=%t failed=%d\n", mode(), failed == 0, failed)
	if failed > 0 {
		err = errors.Join(err, errBroken)
	}
	return errors.Join(err, service.Wait())
}

// stalling is a Collector that answers late, or not at all.
func stalling() (url string, end func(), err error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sleep(r.Context(), time.Duration(rand.Int64N(int64(10*time.Second))))
	})}
	go func() { _ = server.Serve(l) }()
	return "http://" + l.Addr().String(), func() { _ = server.Close() }, nil
}

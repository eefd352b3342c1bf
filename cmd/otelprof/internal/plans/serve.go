package plans

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
)

var planServeCommand = &command.Command{
	Name:  "serve",
	Short: "Serve plans over HTTP and OpAMP",
	Long: `
Programs ask it with OTELPROF_PLAN_URL=http://ADDRESS/v1/plan, or with
OTELPROF_OPAMP_ENDPOINT=ws://ADDRESS/v1/opamp. The audit goes to standard error.

To push and stop plans is a right of its own: that of the token, or of the names given by -admin. Without
both the plan can only come from -plan. Programs show the instance token or a client certificate; on
loopback they need none. An address that is not loopback takes TLS and one of the two.
`,
	Run: func(c *command.Call) error {
		f := serveFlags{
			listen:    c.String("listen", "127.0.0.1:4320", "`address` to listen on; port 0 takes a free one"),
			plan:      c.String("plan", "", "`file` with the plan, and FILE.sig beside it; it is looked at every second, and push is refused"),
			token:     c.String("token-file", "", "`file` with the bearer token of those who push; by default OTELPROF_TOKEN is the token"),
			instances: c.String("instance-token-file", "", "`file` with a token for programs, with which nothing can be pushed"),
			cert:      c.String("tls-cert", "", "PEM `file` with the certificate"),
			key:       c.String("tls-key", "", "PEM `file` with its key"),
			ca:        c.String("client-ca", "", "PEM `file` with the authorities whose clients alone are served"),
		}
		c.Var(&f.admins, "admin", "`name` in the client certificate of one who may push; may be repeated")
		c.Var(&f.hosts, "host", "`name`, or name:port, by which the server is reached, beside those in its certificate; may be repeated")
		if err := c.ParseArgs(0, 0); err != nil {
			return err
		}
		opts, err := f.options()
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		log := slog.New(slog.NewTextHandler(c.Stderr, nil))
		return serve(ctx, c, *f.listen, *f.plan, append(opts, planserver.WithLogger(log)), log)
	},
}

type serveFlags struct {
	listen, plan, token, instances, cert, key, ca *string
	hosts, admins                                 command.List
}

func (f serveFlags) options() ([]planserver.Option, error) {
	opts := []planserver.Option{planserver.WithHosts(f.hosts...), planserver.WithAdmins(f.admins...)}
	if *f.plan != "" {
		opts = append(opts, planserver.WithFixedPlan(*f.plan))
	}
	token := os.Getenv(EnvToken)
	if *f.token != "" {
		var err error
		if token, err = readToken(*f.token); err != nil {
			return nil, err
		}
	}
	if token != "" || *f.token != "" {
		opts = append(opts, planserver.WithToken(token))
	}
	if *f.instances != "" {
		token, err := readToken(*f.instances)
		if err != nil {
			return nil, err
		}
		opts = append(opts, planserver.WithInstanceToken(token))
	}
	if *f.cert == "" && *f.key == "" {
		if *f.ca != "" {
			return nil, command.Usagef("client-ca: must be beside tls-cert and tls-key")
		}
		return opts, nil
	}
	pair, err := tls.LoadX509KeyPair(*f.cert, *f.key)
	if err != nil {
		return nil, fmt.Errorf("tls-cert %q, tls-key %q: %w", *f.cert, *f.key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if *f.ca != "" {
		if c.ClientCAs, err = readPool(*f.ca); err != nil {
			return nil, err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return append(opts, planserver.WithTLS(c)), nil
}

func readToken(name string) (string, error) {
	text, err := client.ReadLimited(name, 16<<10)
	return strings.TrimSpace(string(text)), err
}

func serve(ctx context.Context, c *command.Call, addr, plan string, opts []planserver.Option, log *slog.Logger) error {
	s, err := planserver.NewServer(opts...)
	if err != nil {
		return err
	}
	f := followed{name: plan, server: s, log: log, last: noPlan}
	if plan != "" {
		f.look() // before the first poll, whose answer would end the plan in force
	}
	if err := s.Start(addr); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "serving plans at %s\n", s.URL())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-s.Served() // after Shutdown, or since the listener has failed
		cancel()
	}()
	if plan != "" {
		f.follow(ctx)
	}
	<-ctx.Done()
	ending, end := context.WithTimeout(context.Background(), 5*time.Second)
	defer end()
	return s.Shutdown(ending)
}

// A followed file is pushed whenever it changes. If it is gone, or has no plan, the plan before
// ends. If it cannot be read, nothing changes.
type followed struct {
	name   string
	server *planserver.Server
	log    *slog.Logger
	last   [sha256.Size]byte // of what it had
	plan   [sha256.Size]byte // of the document in that
	half   [sha256.Size]byte // of what may be half of a push
	said   string            // why it could not be read
}

// noPlan is what a file has that is gone, or empty.
var noPlan = sha256.Sum256(nil)

func (f *followed) follow(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look()
		}
	}
}

func (f *followed) look() {
	document, signature, err := readSigned(f.name)
	if err != nil {
		if err.Error() != f.said {
			f.said = err.Error()
			f.log.Warn("otelprof: plan file", slog.Any("error", err))
		}
		return
	}
	f.said = ""
	sum := sha256.Sum256(bytes.Join([][]byte{document, signature}, []byte{0}))
	if len(document) == 0 {
		sum = noPlan
	}
	if sum == f.last {
		return
	}
	// A push replaces the signature first. The plan before, with one that does not fit, would be
	// refused by instances that check it, and would end there.
	plan := sha256.Sum256(document)
	if plan == f.plan && sum != f.half {
		f.half = sum
		return
	}
	f.last, f.plan = sum, plan
	from := "file " + f.name
	if len(document) == 0 || f.server.Push(document, signature, from) != nil { // which is in the audit
		f.server.StopPlan(from)
	}
}

// readSigned reads a plan and what stands beside it, nothing if there is no file.
func readSigned(name string) (document, signature []byte, err error) {
	document, err = client.ReadLimited(name, plan.MaxBytes+1) // one more, which the server refuses
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	signature, err = readSignature(name)
	return document, signature, err
}

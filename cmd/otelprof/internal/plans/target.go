package plans

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/internal/naming"
)

// A target is where plans are pushed to.
type target interface {
	// String names the target in what is printed.
	String() string
	// generation returns the generation of the last plan there, 0 if it is not known.
	generation(ctx context.Context) (uint64, error)
	Push(ctx context.Context, document, signature []byte, force bool) error
	Stop(ctx context.Context) error
	status(ctx context.Context) (status, error)
}

// A status is what is printed about a target, or given as JSON.
type status interface{ write(out io.Writer) }

// TargetFlags are the flags of all commands that speak to a target.
type TargetFlags struct {
	tokenFile, ca, cert, key *string
	Timeout                  *time.Duration
}

const targetHelp = `
The target is a file that programs read; or the URL, or HOST:PORT, of a plan server or of a program's viewer, which is
asked which of the two it is unless its path is /v1/plan or /api/v1/causal/plan. Without one it is that in
OTELPROF_URL; -to names it, too. The token for it is read from -token-file, or from OTELPROF_TOKEN.
`

// toFlag stands for the target among the arguments.
func toFlag(c *command.Call) *string {
	return c.String("to", "", "`target`: a file, or the URL of a plan server or a viewer")
}

// parseTarget parses the arguments: so many, and then perhaps the target that find takes.
func parseTarget(c *command.Call, before int, to *string) (string, error) {
	if err := c.ParseArgs(before, before+1); err != nil {
		return "", err
	}
	return c.ArgOr(before, "to", *to)
}

func NewTargetFlags(c *command.Call) TargetFlags {
	return TargetFlags{
		tokenFile: c.String("token-file", "", "`file` with the bearer token; by default OTELPROF_TOKEN is the token"),
		ca:        c.String("ca", "", "PEM `file` with the authorities to trust; by default the system's"),
		cert:      c.String("tls-cert", "", "PEM `file` with the certificate to show"),
		key:       c.String("tls-key", "", "PEM `file` with its key"),
		Timeout:   c.Duration("timeout", 10*time.Second, "`time` that a request may take"),
	}
}

// find returns the target of a name. A URL whose path does not show what it is, is asked.
func (f TargetFlags) find(ctx context.Context, to string) (target, error) {
	to = client.URL(to)
	if to == "" {
		return nil, command.Usagef("to \"\": must be a file or a URL, here or in %s", client.EnvURL)
	}
	if !strings.Contains(to, "://") {
		return newFileTarget(to)
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, command.Usagef("to: %v", client.WithoutPath(err))
	}
	opts, err := f.Options()
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.Path, "/")
	if base, ok := strings.CutSuffix(path, viewerPlanPath); ok {
		u.Path = base
		return NewViewer(u, opts)
	}
	if base, ok := strings.CutSuffix(path, serverPlanPath); ok {
		u.Path = base
		return newPlanServer(u, opts)
	}
	if there, err := answers(ctx, u.JoinPath(serverPlanPath), opts); err != nil {
		return nil, err
	} else if there {
		return newPlanServer(u, opts)
	}
	if there, err := answers(ctx, u.JoinPath(viewerPlanPath), opts); err != nil {
		return nil, err
	} else if there {
		return NewViewer(u, opts)
	}
	return nil, fmt.Errorf("%s: has neither %s nor %s: must be a plan server, or a viewer with causal experiments", to, serverPlanPath, viewerPlanPath)
}

// answers reports whether there is something at a URL, if only for others.
func answers(ctx context.Context, u *url.URL, opts []remote.EndpointOption) (bool, error) {
	e, err := planhttp.New(u.String(), Schemes, opts...)
	if err != nil {
		return false, err
	}
	defer e.Close()
	a, err := e.Do(ctx, http.MethodGet, nil, nil, MaxAnswer)
	if err != nil {
		return false, fmt.Errorf("%s: %w", e, err)
	}
	return a.Status != http.StatusNotFound, nil
}

var Schemes = []string{"https", "http"}

// Options are how servers are reached.
func (f TargetFlags) Options() ([]remote.EndpointOption, error) {
	opts := []remote.EndpointOption{remote.WithTimeout(*f.Timeout)}
	if *f.tokenFile != "" {
		opts = append(opts, remote.WithTokenFile(*f.tokenFile))
	} else if token := os.Getenv(EnvToken); token != "" {
		opts = append(opts, remote.WithToken(func(context.Context) (string, error) { return token, nil }))
	}
	c, err := f.tls()
	if err != nil {
		return nil, err
	}
	return append(opts, remote.WithTLS(c)), nil
}

// Client is how what takes no token is asked.
func (f TargetFlags) Client() (*http.Client, error) {
	c, err := f.tls()
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c}}, err
}

func (f TargetFlags) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if *f.ca != "" {
		pool, err := readPool(*f.ca)
		if err != nil {
			return nil, err
		}
		c.RootCAs = pool
	}
	if *f.cert != "" || *f.key != "" {
		pair, err := tls.LoadX509KeyPair(*f.cert, *f.key)
		if err != nil {
			return nil, fmt.Errorf("tls-cert %q, tls-key %q: %w", *f.cert, *f.key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// EnvToken is in place of a flag, which every user of the machine could read.
const EnvToken = "OTELPROF_TOKEN"

func readPool(name string) (*x509.CertPool, error) {
	text, err := client.ReadLimited(name, 1<<20)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: must have certificates in PEM", name)
	}
	return pool, nil
}

const (
	serverPlanPath      = "/v1/plan"
	serverInstancesPath = "/v1/instances"
	viewerPlanPath      = "/api/v1/causal/plan"
	// MaxAnswer bounds what is read of an answer: 4,096 instances fit.
	MaxAnswer = 8 << 20
)

// A planServer is a target of many instances.
type planServer struct {
	plan, forced, instances *planhttp.Endpoint
}

func newPlanServer(base *url.URL, opts []remote.EndpointOption) (target, error) {
	at := func(path, query string) (*planhttp.Endpoint, error) {
		u := base.JoinPath(path)
		u.RawQuery = query
		return planhttp.New(u.String(), Schemes, opts...)
	}
	plan, err := at(serverPlanPath, "")
	if err != nil {
		return nil, err
	}
	forced, errForced := at(serverPlanPath, "force=1")
	instances, errInstances := at(serverInstancesPath, "")
	return planServer{plan, forced, instances}, errors.Join(errForced, errInstances)
}

func (t planServer) String() string {
	return "plan server " + strings.TrimSuffix(t.plan.String(), serverPlanPath)
}

func (t planServer) fleet(ctx context.Context) (f planserver.Fleet, err error) {
	return f, askJSON(ctx, t.instances, http.MethodGet, nil, nil, &f)
}

func (t planServer) generation(ctx context.Context) (uint64, error) {
	f, err := t.fleet(ctx)
	return f.Generation, err
}

func (t planServer) Push(ctx context.Context, document, signature []byte, force bool) error {
	e := t.plan
	if force {
		e = t.forced
	}
	_, err := ask(ctx, e, http.MethodPut, document, signature)
	return err
}

func (t planServer) Stop(ctx context.Context) error {
	_, err := ask(ctx, t.plan, http.MethodDelete, nil, nil)
	return err
}

func (t planServer) status(ctx context.Context) (status, error) {
	f, err := t.fleet(ctx)
	return fleetStatus(f), err
}

// A ViewerTarget is one process.
type ViewerTarget struct{ *planhttp.Endpoint }

func NewViewer(base *url.URL, opts []remote.EndpointOption) (ViewerTarget, error) {
	e, err := planhttp.New(base.JoinPath(viewerPlanPath).String(), Schemes, opts...)
	return ViewerTarget{e}, err
}

func (t ViewerTarget) String() string {
	return "viewer " + strings.TrimSuffix(t.Endpoint.String(), viewerPlanPath)
}

// viewerStatus is what a viewer reports; its plan is printed as it is.
type viewerStatus struct {
	Plan   json.RawMessage `json:"plan"`
	Status causal.Status   `json:"status"`
}

// InForce reports whether a plan runs, or waits for its time.
func (s viewerStatus) InForce() bool {
	return s.Status.State == causal.StateRunning || s.Status.State == causal.StateWaiting
}

// ID is the plan's, or "".
func (s viewerStatus) ID() string {
	var p struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(s.Plan, &p) // null without a plan
	return p.ID
}

func (t ViewerTarget) Ask(ctx context.Context) (v viewerStatus, err error) {
	return v, askJSON(ctx, t.Endpoint, http.MethodGet, nil, nil, &v)
}

func (t ViewerTarget) generation(ctx context.Context) (uint64, error) {
	v, err := t.Ask(ctx)
	return generationOf(v.Plan), err
}

// Push needs no force: a viewer takes any document, and ends experiments if it is no plan. A plan
// that it takes may be for others.
func (t ViewerTarget) Push(ctx context.Context, document, signature []byte, _ bool) error {
	var v viewerStatus
	err := askJSON(ctx, t.Endpoint, http.MethodPut, document, signature, &v)
	if err == nil && !v.InForce() {
		err = fmt.Errorf("%s: the plan is not in force: %s%s", t, v.Status.State, said(": ", v.Status.Reason))
	}
	return err
}

func (t ViewerTarget) Stop(ctx context.Context) error {
	_, err := ask(ctx, t.Endpoint, http.MethodDelete, nil, nil)
	return err
}

func (t ViewerTarget) status(ctx context.Context) (status, error) { return t.Ask(ctx) }

// ask sends a request, and makes an error of an answer that is none of success.
func ask(ctx context.Context, e *planhttp.Endpoint, method string, body, signature []byte) (planhttp.Answer, error) {
	return AskFor(ctx, e, method, body, signature, MaxAnswer)
}

// AskFor is ask for an answer of at most limit bytes.
func AskFor(ctx context.Context, e *planhttp.Endpoint, method string, body, signature []byte, limit int64) (planhttp.Answer, error) {
	defer e.Close()
	header := http.Header{}
	if text := strings.TrimSpace(string(signature)); text != "" {
		header.Set(naming.HeaderSignature, text)
	}
	a, err := e.Do(ctx, method, header, body, limit)
	switch {
	case err != nil:
		return a, fmt.Errorf("%s: %w", e, err)
	case int64(len(a.Body)) > limit:
		return a, fmt.Errorf("%s: answer: must have at most %d bytes", e, limit)
	case a.Status < 200 || a.Status > 299:
		return a, fmt.Errorf("%s: %w", e, Refusal{a.Status, client.Reason(a.Body)})
	}
	return a, nil
}

// A Refusal is an answer of no success, and the reason in it.
type Refusal struct {
	Status int
	reason string
}

func (r Refusal) Error() string {
	if r.Status == http.StatusUnauthorized {
		from := "is not set"
		if os.Getenv(EnvToken) != "" {
			from = "is set"
		}
		r.reason += fmt.Sprintf("; the token is that in -token-file, or else in %s, which %s", EnvToken, from)
	}
	return strings.TrimSpace(fmt.Sprintf("refused, %d %s: %s", r.Status, http.StatusText(r.Status), r.reason))
}

func askJSON(ctx context.Context, e *planhttp.Endpoint, method string, body, signature []byte, out any) error {
	a, err := ask(ctx, e, method, body, signature)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(a.Body, out); err != nil {
		return fmt.Errorf("%s: answer: must be JSON: %w", e, err)
	}
	return nil
}

// generationOf reads the generation of a document that need not be valid any more.
func generationOf(document []byte) uint64 {
	var v struct {
		Generation uint64 `yaml:"generation"`
	}
	if yaml.Unmarshal(document, &v) != nil {
		return 0
	}
	return v.Generation
}

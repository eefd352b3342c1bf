package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/realworld/control"
)

// A process is a program that runs, with its clients.
type process struct {
	program
	cmd     *exec.Cmd
	stdin   io.Closer
	log     *os.File
	control string // URL
	crowd   *crowd
	http    *http.Client
}

const (
	// started is how soon a program must answer.
	started = 30 * time.Second
	// patience is how much longer than its window a request to control may take.
	patience = 2 * time.Minute
)

// start starts a program's binary and its clients, and returns when requests are answered. It takes
// plans if experiments are "on". What the program writes to standard error goes into a file beside
// the binary.
func start(ctx context.Context, p program, binary, experiments string) (_ *process, err error) {
	ports, err := freePorts(p.ports + 1)
	if err != nil {
		return nil, err
	}
	own := net.JoinHostPort("127.0.0.1", ports[p.ports])
	ports = ports[:p.ports]
	s := &process{program: p, control: "http://" + own, http: &http.Client{}}
	dir := filepath.Dir(binary)
	args := ports
	if p.args != nil {
		args = p.args(ports)
	}
	s.cmd = exec.CommandContext(ctx, binary, args...)
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), control.EnvAddress+"="+own, control.EnvExperiments+"="+experiments)
	if s.log, err = os.Create(binary + ".log"); err != nil {
		return nil, err
	}
	s.cmd.Stderr = s.log // its spans go to standard output, and nowhere from there
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w (its log is %s)", errors.Join(err, s.stop()), s.log.Name())
		}
	}()
	if err := s.awaitAnswer(ctx, ports); err != nil {
		return nil, err
	}
	s.crowd, err = startClients(ctx, p, ports)
	return s, err
}

// awaitAnswer asks until the program answers, and seeds it.
func (s *process) awaitAnswer(ctx context.Context, ports []string) error {
	ctx, cancel := context.WithTimeout(ctx, started)
	defer cancel()
	for {
		err := s.visit(ctx, s.http, ports, 0)
		if errors.Is(err, errStatus) && s.seed != nil {
			if err = s.seed(ctx, s.http, ports); err != nil {
				return fmt.Errorf("%s: seed: %w", s.name, err)
			}
			return s.visit(ctx, s.http, ports, 0)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: no answer in %v: %w", s.name, started, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// pids are the processes that belong to what is measured.
func (s *process) pids() []int {
	pids := []int{os.Getpid(), s.cmd.Process.Pid}
	if s.crowd != nil {
		pids = append(pids, s.crowd.cmd.Process.Pid)
	}
	return pids
}

// stop ends the clients and the program.
func (s *process) stop() error {
	var errs []error
	if s.crowd != nil {
		errs = append(errs, s.crowd.stop())
	}
	s.http.CloseIdleConnections()
	errs = append(errs, s.stdin.Close(), s.cmd.Wait(), s.log.Close()) // control ends the program with its input
	return errors.Join(errs...)
}

// speed has the delay of a region be shorter by a part in [0, 1).
func (s *process) speed(ctx context.Context, r region, speedup float64) error {
	_, err := s.ask(ctx, http.MethodPost, "/speed", url.Values{"delay": {r.delay}, "speedup": {strconv.FormatFloat(speedup, 'g', -1, 64)}})
	return err
}

// record has replay record a window.
func (s *process) record(ctx context.Context, d time.Duration) error {
	_, err := s.ask(ctx, http.MethodPost, "/record", url.Values{"for": {d.String()}})
	return err
}

// trace returns an execution trace.
func (s *process) trace(ctx context.Context, d time.Duration) ([]byte, error) {
	return s.ask(ctx, http.MethodGet, "/trace", url.Values{"for": {d.String()}})
}

// profile returns what was found out until now, and as what it was sent.
func (s *process) profile(ctx context.Context) (profile.Profile, []byte, error) {
	text, err := s.ask(ctx, http.MethodGet, "/profile", nil)
	if err != nil {
		return profile.Profile{}, nil, err
	}
	p, err := profile.Read(bytes.NewReader(text))
	return p, text, err
}

// ask asks package control within the program.
func (s *process) ask(ctx context.Context, method, path string, values url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.control+path+"?"+values.Encode(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := s.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(string(bytes.TrimSpace(body)))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", s.name, path, err)
	}
	return body, nil
}

// The ports for servers. The system takes those of clients from 32768 on, so that no client's
// connection takes one of them before its server listens.
const firstPort, endOfPorts = 10_000, 30_000

// freePorts returns n ports of the loopback at which nothing listens.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range 1000 {
		port := strconv.Itoa(firstPort + rand.IntN(endOfPorts-firstPort))
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		defer hangUp(l) // when all are found, so that none is found twice
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("ports in [%d, %d): must have %d that are free", firstPort, endOfPorts, n)
}

// hangUp closes what nothing is expected of any more.
func hangUp(c io.Closer) { _ = c.Close() }

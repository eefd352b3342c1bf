package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/integration/internal/noise"
	"github.com/otelprof/otelprof/integration/internal/ports"
	"github.com/otelprof/otelprof/integration/realworld/control"
)

// A process is a program that runs, with its clients. It may consist of several processes.
type process struct {
	program
	members []*member
	crowd   *crowd
	http    *http.Client
}

// A member is one process of a program.
type member struct {
	service string // "" for a program of one process
	cmd     *exec.Cmd
	stdin   io.Closer
	log     *os.File
	control string // URL
}

const (
	// started is how soon a program must answer.
	started = 30 * time.Second
	// patience is how much longer than its window a request to control may take.
	patience = 2 * time.Minute
)

// start starts a program's binary and its clients, and returns when requests are answered. It takes
// plans if experiments are "on". What the program writes to standard error goes into files beside
// the binary.
func start(ctx context.Context, p program, binary, experiments string) (_ *process, err error) {
	free, err := ports.Free(p.ports + p.processes())
	if err != nil {
		return nil, err
	}
	ports, own := free[:p.ports], free[p.ports:]
	s := &process{program: p, http: &http.Client{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
			for _, m := range s.members {
				err = fmt.Errorf("%w (its log is %s)", err, m.log.Name())
			}
		}
	}()
	args := ports
	if p.args != nil {
		args = p.args(ports)
	}
	for i := range p.processes() {
		m := &member{control: net.JoinHostPort("127.0.0.1", own[i])}
		if p.services != nil {
			m.service = p.services[i]
		}
		if err := m.start(ctx, binary, args, experiments); err != nil {
			return nil, err
		}
		s.members = append(s.members, m)
	}
	if err := s.awaitAnswer(ctx, ports); err != nil {
		return nil, err
	}
	s.crowd, err = startClients(ctx, p, ports)
	return s, err
}

func (m *member) start(ctx context.Context, binary string, args []string, experiments string) (err error) {
	logs := binary + ".log"
	if m.service != "" {
		args, logs = append([]string{m.service}, args...), binary+"-"+m.service+".log"
	}
	m.cmd = exec.CommandContext(ctx, binary, args...)
	m.cmd.Dir = filepath.Dir(binary)
	m.cmd.Env = append(os.Environ(), control.EnvAddress+"="+m.control, control.EnvExperiments+"="+experiments)
	m.control = "http://" + m.control
	if m.log, err = os.Create(logs); err != nil {
		return err
	}
	m.cmd.Stderr = m.log // its spans go to standard output, and nowhere from there
	if m.stdin, err = m.cmd.StdinPipe(); err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		return errors.Join(err, m.log.Close())
	}
	return nil
}

// awaitAnswer asks until the program answers, and seeds it.
func (s *process) awaitAnswer(ctx context.Context, ports []string) error {
	ctx, cancel := context.WithTimeout(ctx, started)
	defer cancel()
	for {
		err := s.visit(ctx, s.http, ports, 0)
		if errors.Is(err, fetch.ErrStatus) && s.seed != nil {
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

// pids are the processes that belong to what is measured, beside this one.
func (s *process) pids() (pids []int) {
	for _, m := range s.members {
		pids = append(pids, m.cmd.Process.Pid)
	}
	if s.crowd != nil {
		pids = append(pids, s.crowd.cmd.Process.Pid)
	}
	return pids
}

// undisturbed measures, and again while other processes disturb it and there is time left for that.
func (s *process) undisturbed(t *noise.Tally, measure func() error) error {
	return t.Measure(math.MaxInt, measure, s.pids()...)
}

// stop ends the clients and the program.
func (s *process) stop() error {
	var errs []error
	if s.crowd != nil {
		errs = append(errs, s.crowd.stop())
	}
	s.http.CloseIdleConnections()
	for _, m := range s.members { // control ends a process with its input
		errs = append(errs, m.stdin.Close(), m.cmd.Wait(), m.log.Close())
	}
	return errors.Join(errs...)
}

// path is that of the binary.
func (s *process) path() string { return s.members[0].cmd.Path }

// speed has the delay of a region be shorter by a part in [0, 1), in the process that has it.
func (s *process) speed(ctx context.Context, r region, speedup float64) error {
	var errs []error
	for _, m := range s.members {
		_, err := s.askOne(ctx, m, http.MethodPost, "/speed", url.Values{"delay": {r.delay}, "speedup": {strconv.FormatFloat(speedup, 'g', -1, 64)}})
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// record has replay record a window.
func (s *process) record(ctx context.Context, d time.Duration) error {
	_, err := s.ask(ctx, http.MethodPost, "/record", url.Values{"for": {d.String()}})
	return err
}

// traces returns execution traces of the same time, one of each process.
func (s *process) traces(ctx context.Context, d time.Duration) ([][]byte, error) {
	return s.ask(ctx, http.MethodGet, "/trace", url.Values{"for": {d.String()}})
}

// profile returns what was found out until now by all processes, and as what it was sent or would
// be.
func (s *process) profile(ctx context.Context) (profile.Profile, []byte, error) {
	texts, err := s.ask(ctx, http.MethodGet, "/profile", nil)
	if err != nil {
		return profile.Profile{}, nil, err
	}
	all := make([]profile.Profile, len(texts))
	for i, text := range texts {
		if all[i], err = profile.Read(bytes.NewReader(text)); err != nil {
			return profile.Profile{}, nil, err
		}
	}
	if len(all) == 1 {
		return all[0], texts[0], nil
	}
	merged := profile.Merge(all...)
	text, err := asText(merged)
	return merged, text, err
}

func asText(p profile.Profile) ([]byte, error) {
	var b bytes.Buffer
	err := p.WriteJSON(&b)
	return b.Bytes(), err
}

// ask asks package control within all processes at once.
func (s *process) ask(ctx context.Context, method, path string, values url.Values) ([][]byte, error) {
	answers, errs := make([][]byte, len(s.members)), make([]error, len(s.members))
	var wg sync.WaitGroup
	for i, m := range s.members {
		wg.Go(func() { answers[i], errs[i] = s.askOne(ctx, m, method, path, values) })
	}
	wg.Wait()
	return answers, errors.Join(errs...)
}

func (s *process) askOne(ctx context.Context, m *member, method, path string, values url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := fetch.Do(ctx, s.http, method, m.control+path+"?"+values.Encode(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return body, nil
}

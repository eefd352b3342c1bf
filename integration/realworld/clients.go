package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/otelhdr"
)

// clients is how many there are; each sends a request when the one before is answered.
const clients = 8

// answered is what clients have got until now.
type answered struct {
	Count  int           // answers with status 200: a failure, which may come sooner, is no progress
	Last   time.Duration // when the last of them came, since the clients began
	Failed int           // answers with another status
	Status string        // the last of those
	Lost   string        // why a request got no answer
	P99    time.Duration // of the requests answered so since the clients were asked to forget
}

func (a *answered) add(err error, at time.Duration) {
	switch {
	case err == nil:
		a.Count++
		a.Last = at
	case errors.Is(err, fetch.ErrStatus):
		a.Failed++
		a.Status = err.Error()
	default:
		a.Lost = err.Error()
	}
}

// forget is the question that has clients measure durations anew.
const forget = "forget"

// beClients sends requests to a program until standard input ends. Each line there asks for what
// was answered until now.
func beClients(ctx context.Context, p program, ports []string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	durations, err := otelhdr.NewConcurrent(otelhdr.WithRelativeError(0.005))
	if err != nil {
		return err
	}
	var (
		mu    sync.Mutex
		until answered
		began = time.Now()
		wg    sync.WaitGroup
	)
	defer wg.Wait()
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	for i := range clients {
		wg.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				sent := time.Now()
				err := p.visit(ctx, client, ports, n)
				if err == nil {
					durations.Record(uint64(time.Since(sent)))
				}
				mu.Lock()
				if ctx.Err() == nil {
					until.add(err, time.Since(began))
				}
				mu.Unlock()
			}
		})
	}
	questions, known := bufio.NewScanner(in), durations.Snapshot(nil)
	for questions.Scan() {
		mu.Lock()
		now := until
		mu.Unlock()
		all := durations.Snapshot(nil)
		if questions.Text() == forget {
			known = all
		} else if since := all.Since(known, nil); since.Count() > 0 {
			now.P99 = time.Duration(since.Percentile(99))
		}
		if err := json.NewEncoder(out).Encode(now); err != nil {
			return err
		}
	}
	return questions.Err()
}

// visit sends one request.
func (p program) visit(ctx context.Context, client *http.Client, ports []string, n int) error {
	method, text := http.MethodGet, ""
	if p.body != nil {
		method, text = http.MethodPost, p.body(n)
	}
	_, err := fetch.Do(ctx, client, method, p.url(ports, n), strings.NewReader(text))
	return err
}

// A crowd is clients in a process of their own.
type crowd struct {
	cmd       *exec.Cmd
	questions io.WriteCloser
	answers   *json.Decoder
}

// startClients has another process of this command be the clients.
func startClients(ctx context.Context, p program, ports []string) (*crowd, error) {
	command, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crowd{cmd: exec.CommandContext(ctx, command, append([]string{"-" + clientsFlag, p.name}, ports...)...)}
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.questions, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	c.answers = json.NewDecoder(out)
	return c, c.cmd.Start()
}

// answered asks what was answered until now.
func (c *crowd) answered() (answered, error) { return c.ask("") }

func (c *crowd) ask(question string) (a answered, err error) {
	if _, err := io.WriteString(c.questions, question+"\n"); err != nil {
		return a, fmt.Errorf("clients: %w", err)
	}
	if err := c.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("clients: %w", err)
	}
	return a, nil
}

// stop ends the clients.
func (c *crowd) stop() error {
	return errors.Join(c.questions.Close(), c.cmd.Wait())
}

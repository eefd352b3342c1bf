//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/otelprof/otelprof/internal/overlay"
)

// runtimeFigures are what Go's scheduler costs in programs that otelprof build has made, beside those of go build, while
// there is no experiment. Each has a control: go build beside go build.
var runtimeFigures = []string{"pingpong", "mutex", "gosched", "spawn"}

// runtimeSlower is by how much an operation may be slower, beyond the first quartile of its control.
const runtimeSlower = 0.02

const (
	runtimePrefix = "runtime_idle_"
	idlePackage   = "github.com/otelprof/otelprof/integration/peers/idle"
)

// runRuntime writes a line for each figure that matches, after that of its control.
func runRuntime(w io.Writer, match *regexp.Regexp, rounds int, arm time.Duration) (err error) {
	if !slices.ContainsFunc(runtimeFigures, func(name string) bool { return match.MatchString(runtimePrefix + name) }) {
		return nil
	}
	dir, err := os.MkdirTemp("", "runtime_idle")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stock, ours := filepath.Join(dir, "stock"), filepath.Join(dir, "ours")
	cmd, err := overlay.Command("build", []string{"-o", ours, idlePackage})
	if err != nil {
		return err
	}
	for _, c := range []*exec.Cmd{cmd, exec.Command("go", "build", "-o", stock, idlePackage)} {
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", c.Args, err, bytes.TrimSpace(out))
		}
	}
	for _, name := range runtimeFigures {
		if !match.MatchString(runtimePrefix + name) {
			continue
		}
		control, err := interleave(stock, stock, name, rounds, arm)
		if err != nil {
			return err
		}
		r, err := interleave(ours, stock, name, rounds, arm)
		if err != nil {
			return err
		}
		f := figure{name: runtimePrefix + name + "_aa", records: true, goroutines: 1, procs: 1}
		fmt.Fprintln(w, f.line(control))
		f.name = runtimePrefix + name
		f.target.x = math.Floor(1000*(1-runtimeSlower)*min(1, control.xLo)) / 1000
		if _, err := fmt.Fprintln(w, f.line(r)); err != nil {
			return err
		}
	}
	return nil
}

// interleave runs two programs in turn, rounds times, each for about arm.
func interleave(ours, peer, operation string, rounds int, arm time.Duration) (result, error) {
	const some = 100_000
	ns, err := runIdle(peer, operation, some)
	if err != nil {
		return result{}, err
	}
	n := max(some, int(float64(arm)/ns))
	var o, p []cost
	var x []float64
	for round := range rounds {
		programs := [2]string{ours, peer}
		if round%2 == 1 {
			programs[0], programs[1] = peer, ours
		}
		var took [2]float64
		for i, program := range programs {
			if took[i], err = runIdle(program, operation, n); err != nil {
				return result{}, err
			}
		}
		if round%2 == 1 {
			took[0], took[1] = took[1], took[0]
		}
		o, p, x = append(o, cost{ns: took[0]}), append(p, cost{ns: took[1]}), append(x, took[1]/took[0])
	}
	r := result{peerName: "go", ours: medians(o), peer: medians(p), x: quantile(x, 0.5), xLo: quantile(x, 0.25), xHi: quantile(x, 0.75)}
	r.delta.ns = r.ours.ns - r.peer.ns
	r.ours.busy = 1
	return r, nil
}

// runIdle returns what an operation takes in a program, in ns of processor time.
func runIdle(program, operation string, n int) (float64, error) {
	out, err := exec.Command(program, operation, strconv.Itoa(n)).Output()
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", filepath.Base(program), operation, err)
	}
	return strconv.ParseFloat(string(bytes.TrimSpace(out)), 64)
}

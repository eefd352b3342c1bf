//go:build unix

package main

import (
	"bytes"
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

	"github.com/otelprof/otelprof/internal/runtimemode/overlay"
)

// A runtimeFigure compares two programs on one processor. Each has a control: the peer beside
// itself.
type runtimeFigure struct {
	name, program string
	ours          []string // what our program is to do, and the peer's
	peer          []string
	peerName      string
	stock         bool // the peer is built by go build, and not by otelprof build as ours is
	free          bool // there is no target beside the control's
	least         float64
}

// runtimeFigures are what Go's scheduler costs in programs that otelprof build has made, beside
// those of go build, while there is no experiment; what operations on free locks and channels cost
// there while no trace is on; and what spans cost of which the scheduler keeps account, and
// switches of their goroutines.
var runtimeFigures = []runtimeFigure{
	idleFigure("pingpong"), idleFigure("mutex"), idleFigure("gosched"), idleFigure("spawn"),
	objectFigure("mutex", "lock"), objectFigure("rwmutex", "rlock"), objectFigure("waitgroup", "count"),
	objectFigure("channel", "buffer"), objectFigure("select", "choose"),
	tracedFigure("mutex", "lock"), tracedFigure("channel", "buffer"), tracedFigure("select", "choose"), tracedFigure("pingpong", "pingpong"), requestsFigure(),
	timesFigure("runtime_times", "span"), timesFigure("runtime_times_pingpong", "pingpong"),
}

func idleFigure(operation string) runtimeFigure {
	does := []string{operation}
	return runtimeFigure{name: "runtime_idle_" + operation, program: "idle", ours: does, peer: does, peerName: "go", stock: true}
}

func objectFigure(object, operation string) runtimeFigure {
	f := idleFigure(operation)
	f.name = "replay_idle_runtime_" + object
	return f
}

// tracedFigure is about programs of otelprof build and of go build, both while a trace is on.
func tracedFigure(object, operation string) runtimeFigure {
	does := []string{operation + "-traced"}
	return runtimeFigure{name: "replay_recording_runtime_" + object, program: "idle", ours: does, peer: does, peerName: "go", stock: true, free: true}
}

// requestsFigure is about requests of 100 µs in a program of otelprof build, with a trace and
// without.
func requestsFigure() runtimeFigure {
	return runtimeFigure{
		name: "replay_recording_runtime_requests", program: "idle", ours: []string{"serve-traced"}, peer: []string{"serve"}, peerName: "untraced", least: 0.8,
	}
}

func timesFigure(name, operation string) runtimeFigure {
	return runtimeFigure{name: name, program: "timed", ours: []string{"timed", operation}, peer: []string{"plain", operation}, peerName: "untimed"}
}

// runtimeSlower is by how much an operation may be slower in an idle scheduler, beyond the first
// quartile of its control.
const runtimeSlower = 0.02

// runRuntime writes a line for each figure that matches, after that of its control.
func runRuntime(w io.Writer, match *regexp.Regexp, dir string, rounds int, arm time.Duration) error {
	for _, f := range runtimeFigures {
		if !match.MatchString(f.name) {
			continue
		}
		ours, err := buildRuntime(dir, f.program, false)
		if err != nil {
			return err
		}
		peer, err := buildRuntime(dir, f.program, f.stock)
		if err != nil {
			return err
		}
		a, b := append([]string{ours}, f.ours...), append([]string{peer}, f.peer...)
		control, err := interleave(b, b, rounds, arm)
		if err != nil {
			return err
		}
		r, err := interleave(a, b, rounds, arm)
		if err != nil {
			return err
		}
		control.peerName, r.peerName = f.peerName, f.peerName
		line := figure{name: f.name + "_aa", records: true, goroutines: 1, procs: 1}
		fmt.Fprintln(w, line.line(control))
		line.name = f.name
		line.target.x = f.least
		if f.stock && !f.free {
			line.target.x = math.Floor(1000*(1-runtimeSlower)*max(leastControl, min(1, control.xLo))) / 1000
		}
		if _, err := fmt.Fprintln(w, line.line(r)); err != nil {
			return err
		}
	}
	return nil
}

// leastControl is how far below 1 two builds that are alike may be for a target to allow for that.
const leastControl = 0.95

// buildRuntime returns the path of a program below this one's folder, by go build or by otelprof
// build.
func buildRuntime(dir, program string, stock bool) (path string, err error) {
	path = filepath.Join(dir, fmt.Sprintf("%s-%t", program, stock))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	args := []string{"-o", path, "github.com/otelprof/otelprof/integration/peers/" + program}
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	if !stock {
		if cmd, err = overlay.Command("build", args); err != nil {
			return "", err
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", cmd.Args, err, bytes.TrimSpace(out))
	}
	return path, nil
}

// interleave runs two programs in turn, rounds times, each for about arm.
func interleave(ours, peer []string, rounds int, arm time.Duration) (result, error) {
	const some = 100_000
	ns, err := runProgram(peer, some)
	if err != nil {
		return result{}, err
	}
	n := max(some, int(float64(arm)/ns))
	var o, p []cost
	var x []float64
	run := func(program []string) (float64, error) { return runProgram(program, n) }
	if err := inTurn(rounds, ours, peer, run, func(a, b float64) {
		o, p, x = append(o, cost{ns: a}), append(p, cost{ns: b}), append(x, b/a)
	}); err != nil {
		return result{}, err
	}
	r := result{ours: medians(o), peer: medians(p), x: quantile(x, 0.5), xLo: quantile(x, 0.25), xHi: quantile(x, 0.75)}
	r.delta.ns = r.ours.ns - r.peer.ns
	r.ours.busy = 1
	return r, nil
}

// runProgram returns what an operation takes in a program, in ns of processor time.
func runProgram(command []string, n int) (float64, error) {
	out, err := exec.Command(command[0], append(slices.Clone(command[1:]), strconv.Itoa(n))...).Output()
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", filepath.Base(command[0]), command[1:], err)
	}
	return strconv.ParseFloat(string(bytes.TrimSpace(out)), 64)
}

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// ballastBytes keeps the heap large enough that the garbage collector runs as rarely as in
// a service, and not after every few thousand spans.
const ballastBytes = 64 << 20

func main() {
	rounds := flag.Int("rounds", 25, "`number` of times both sides of a figure are measured")
	arm := flag.Duration("arm", 100*time.Millisecond, "`time` that each side takes in a round")
	only := flag.String("only", "", "measure only the figures whose names match this `regexp`")
	shop := flag.String("shop", "", "`program` of the demo's shop, for its figure")
	flag.Parse()
	out := &targetWriter{Writer: os.Stdout}
	if err := errors.Join(run(out, *rounds, *arm, *only, *shop), out.err()); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run writes one line for each figure. That a target is missed is for main to say.
func run(w io.Writer, rounds int, arm time.Duration, only, shop string) (err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if rounds < 1 || arm <= 0 {
		return fmt.Errorf("rounds %d, arm %v: must be positive", rounds, arm)
	}
	dir, err := os.MkdirTemp("", "peers") // for programs and their data
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ballast := make([]byte, ballastBytes)
	defer runtime.KeepAlive(ballast)

	if _, err := fmt.Fprintf(w, "# %s %s/%s, %d CPUs (%s), %d rounds of %v\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpuModel(), rounds, arm); err != nil {
		return err
	}
	for _, f := range figures() {
		if !match.MatchString(f.name) {
			continue
		}
		r, err := measure(f, rounds, arm)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := fmt.Fprintln(w, f.line(r)); err != nil {
			return err
		}
	}
	part := min(1, arm.Seconds()*10) // of what is not measured by time
	return errors.Join(runHistograms(w, match, rounds, arm), runSeries(w, match, part), runRuntime(w, match, dir, rounds, arm), runReplay(w, match, rounds, arm),
		runShop(w, match, dir, shop, rounds),
		runShopBeside(w, match, dir, shop, rounds, arm), runShopMinutes(w, match, dir, shop, rounds, arm),
		runBackground(w, match, dir, rounds, arm), runGrowth(w, match, rounds, arm), runScaling(w, match, rounds, arm))
}

// cpuModel returns what Linux calls the processor, or "unknown".
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer file.Close() //nolint:errcheck // Nothing was written.
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// The whole shop of examples/shop, with everything on but experiments, beside the same on the SDK
// alone. Its clients are in the same process, on the same processors.
const (
	shopThroughput = "shop_throughput"
	shopP99        = "shop_p99"
	// shopArm is how long one side runs in a round, where an arm of other figures takes 100 ms; a
	// quarter is not measured.
	shopArm = 80
)

// A shopRun is what the clients of one run saw.
type shopRun struct{ requests, seconds, cpu, p50, p99, p999 float64 }

func (r shopRun) rate() float64 { return r.requests / r.seconds }

// runShopBeside writes the two figures.
func runShopBeside(w io.Writer, match *regexp.Regexp, dir, program string, rounds int, arm time.Duration) error {
	if !match.MatchString(shopThroughput) && !match.MatchString(shopP99) {
		return nil
	}
	if program == "" {
		_, err := fmt.Fprintf(w, "# %s and %s are not measured: -shop must name the program\n", shopThroughput, shopP99)
		return err
	}
	rounds = min(rounds, 9)
	var throughput, cpu, p99, rates []float64
	serve := func(side string) (shopRun, error) {
		return serveShop(program, side, filepath.Join(dir, "data"), max(shopArm*arm, 400*time.Millisecond))
	}
	if err := inTurn(rounds, "otelprof", "sdk", serve, func(ours, peer shopRun) {
		throughput = append(throughput, ours.rate()/peer.rate())
		cpu = append(cpu, peer.cpu/ours.cpu)
		p99 = append(p99, ours.p99/peer.p99)
		rates = append(rates, ours.rate())
	}); err != nil {
		return err
	}
	x := quantile(throughput, 0.5)
	if _, err := fmt.Fprintf(w, "ratio %s x=%.3f x_lo=%.3f x_hi=%.3f x_cpu=%.3f requests_per_second=%.0f rounds=%d clock=wall target=x>=0.99 holds=%s\n",
		shopThroughput, x, quantile(throughput, 0.25), quantile(throughput, 0.75), quantile(cpu, 0.5), quantile(rates, 0.5), rounds, yes(x >= 0.99)); err != nil {
		return err
	}
	x = quantile(p99, 0.5)
	_, err := fmt.Fprintf(w, "ratio %s ours/peer=%.3f lo=%.3f hi=%.3f rounds=%d clock=wall target=ours/peer<=1.02 holds=%s\n",
		shopP99, x, quantile(p99, 0.25), quantile(p99, 0.75), rounds, yes(x <= 1.02))
	return err
}

// serveShop runs the shop for some time, with data in a folder of its own.
func serveShop(shop, side, data string, d time.Duration, args ...string) (r shopRun, err error) {
	if err := os.RemoveAll(data); err != nil {
		return r, err
	}
	run := exec.Command(shop, append(args, "-measure", side, "-for", d.String(), "-data", data, "-listen", "127.0.0.1:0")...)
	err = answerOf(run, "requests=%g seconds=%g cpu_us=%g p50_us=%g p99_us=%g p999_us=%g", &r.requests, &r.seconds, &r.cpu, &r.p50, &r.p99, &r.p999)
	return r, err
}

// answerOf runs a program that prints one line, and reads that.
func answerOf(run *exec.Cmd, format string, to ...any) error {
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", run.Args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if _, err := fmt.Sscanf(string(out), format, to...); err != nil {
		return fmt.Errorf("%v: answer %q: %w", run.Args, out, err)
	}
	return nil
}

// lengths are how long programs run: parts of ten minutes, where an arm takes 100 ms. A shorter one
// is a test.
func lengths(arm time.Duration) (ten, minute, half time.Duration) {
	part := min(1, arm.Seconds()*10)
	of := func(d time.Duration) time.Duration {
		return max(500*time.Millisecond, time.Duration(part*part*float64(d)))
	}
	return of(10 * time.Minute), of(time.Minute), of(30 * time.Second)
}

// runShopMinutes writes which part of the requests for each second of processor time is left where
// the shop runs for a minute, and for ten, from its start on.
func runShopMinutes(w io.Writer, match *regexp.Regexp, dir, program string, rounds int, arm time.Duration) error {
	ten, minute, _ := lengths(arm)
	for _, f := range []struct {
		name   string
		least  float64
		length time.Duration
		rounds int
	}{{"shop_cpu_first_minute", 0.92, minute, min(rounds, 3)}, {"shop_cpu_ten_minutes", 0.98, ten, 1}} {
		if program == "" || !match.MatchString(f.name) { // runShopBeside has said that it is missing
			continue
		}
		serve := func(side string) (shopRun, error) {
			return serveShop(program, side, filepath.Join(dir, "data"), f.length, "-warm", "0s")
		}
		var x []float64
		if err := inTurn(f.rounds, "otelprof", "sdk", serve, func(ours, peer shopRun) { x = append(x, peer.cpu/ours.cpu) }); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "ratio %s x=%.3f x_lo=%.3f x_hi=%.3f rounds=%d seconds=%.0f clock=cpu target=x>=%g holds=%s\n",
			f.name, quantile(x, 0.5), quantile(x, 0.25), quantile(x, 0.75), len(x), f.length.Seconds(), f.least, yes(quantile(x, 0.5) >= f.least)); err != nil {
			return err
		}
	}
	return nil
}

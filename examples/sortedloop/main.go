// Sortedloop asks an old question with counters: why is it faster to go through a sorted
// array than through an unsorted one, if the loop has a branch that depends on the values?
// It counts what both take and prints the differences: it is not the number of instructions,
// but how many branches the CPU guesses wrong.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"

	"github.com/otelprof/otelprof/pmuattrs"
)

func main() {
	rounds := flag.Int("rounds", 1000, "`number` of times that each array is gone through")
	size := flag.Int("size", 1_000_000, "`number` of values in an array")
	flag.Parse()
	if err := run(os.Stdout, *rounds, *size); err != nil {
		fmt.Fprintln(os.Stderr, "sortedloop:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, rounds, size int) (err error) {
	if rounds < 1 || size < 1 {
		return fmt.Errorf("rounds %d, size %d: must be positive", rounds, size)
	}
	runtime.LockOSThread() // counters belong to a thread
	defer runtime.UnlockOSThread()
	session, err := pmuattrs.NewSession(pmuattrs.Cycles, pmuattrs.Instructions, pmuattrs.BranchInstructions, pmuattrs.BranchMisses)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	printCounters(w, session)

	values := make([]byte, size)
	for i := range values {
		values[i] = byte(rand.Uint32())
	}
	unsorted, err := measure(session, values, rounds)
	if err != nil {
		return err
	}
	slices.Sort(values)
	sorted, err := measure(session, values, rounds)
	if err != nil {
		return err
	}
	return pmuattrs.WriteDiff(w, unsorted, sorted, "Unsorted", "Sorted")
}

// printCounters writes what is counted, and what is not.
func printCounters(w io.Writer, s *pmuattrs.Session) {
	fmt.Fprintf(w, "counters: %s", s.Source())
	for _, e := range s.Events() {
		fmt.Fprintf(w, " %s", e)
	}
	fmt.Fprintln(w)
	if reason := s.Reason(); reason != nil {
		fmt.Fprintf(w, "missing: %v\n", reason)
	}
	fmt.Fprintln(w)
}

// measure goes through the values again and again. The first tenth of the rounds, in which
// the CPU learns what there is to learn, does not count.
func measure(s *pmuattrs.Session, values []byte, rounds int) ([]pmuattrs.EventSummary, error) {
	warm := rounds / 10
	for i := range warm + rounds {
		if i == warm {
			s.Reset()
		}
		if err := s.Begin(); err != nil {
			return nil, err
		}
		_ = aggregate(values)
		// Now and then others have the counters, and there is no result.
		if err := s.End(); err != nil && s.Invalid() > uint64(rounds/2) {
			return nil, err
		}
	}
	return s.Summaries(), nil
}

// aggregate is the loop: half of the values take one way, half the other. If it were inlined,
// the compiler could leave it out.
//
//go:noinline
func aggregate(values []byte) float64 {
	acc := 0.0
	for _, v := range values {
		if v >= 128 {
			acc += 100
		} else {
			acc *= 0.9999
		}
	}
	return acc
}

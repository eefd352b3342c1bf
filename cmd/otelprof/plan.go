package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/otelprof/otelprof/causal/plan"
)

var planCommand = &command{
	name:  "plan",
	short: "Write, check, sign, push and stop plans of causal experiments",
	sub: []*command{
		planNewCommand, planCheckCommand, planKeygenCommand, planSignCommand, planVerifyCommand,
		planPushCommand, planStatusCommand, planStopCommand, planServeCommand,
	},
}

// readPlan reads a document, - for standard input, no matter what is in it.
func (c *call) readPlan(name string) ([]byte, error) {
	if name == "-" {
		return limited(name, c.stdin, plan.MaxBytes)
	}
	return readLimited(name, plan.MaxBytes)
}

// readLimited reads a file that has at most atMost bytes.
func readLimited(name string, atMost int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	defer f.Close() //nolint:errcheck // Nothing was written.
	return limited(name, f, atMost)
}

func limited(name string, r io.Reader, atMost int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, atMost+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, withoutPath(err))
	}
	if int64(len(b)) > atMost {
		return nil, fmt.Errorf("%s: must have at most %d bytes", name, atMost)
	}
	return b, nil
}

// readSignature reads what stands beside a plan, nil if nothing.
func readSignature(plan string) ([]byte, error) {
	b, err := readLimited(plan+".sig", 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// A list is a flag that may be given several times.
type list []string

func (l *list) String() string { return fmt.Sprint([]string(*l)) }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

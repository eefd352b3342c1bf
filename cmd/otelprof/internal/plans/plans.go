// Package plans is the command plan: plans written, checked, signed, pushed, stopped and served.
package plans

import (
	"errors"
	"io/fs"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

var Command = &command.Command{
	Name:  "plan",
	Short: "Write, check, sign, push and stop plans of causal experiments",
	Sub: []*command.Command{
		planNewCommand, planCheckCommand, planKeygenCommand, planSignCommand, planVerifyCommand,
		planPushCommand, planStatusCommand, planStopCommand, planServeCommand,
	},
}

// readPlan reads a document, - for standard input, no matter what is in it.
func readPlan(c *command.Call, name string) ([]byte, error) {
	if name == "-" {
		return client.Limited(name, c.Stdin, plan.MaxBytes)
	}
	return client.ReadLimited(name, plan.MaxBytes)
}

// readSignature reads what stands beside a plan, nil if nothing.
func readSignature(plan string) ([]byte, error) {
	b, err := client.ReadLimited(plan+".sig", 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

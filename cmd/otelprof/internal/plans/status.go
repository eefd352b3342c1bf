package plans

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
	"github.com/otelprof/otelprof/internal/naming"
)

var planStatusCommand = &command.Command{
	Name:  "status",
	Args:  "[TARGET]",
	Short: "Tell which plan a file, a program or a fleet has, and what became of it",
	Long:  targetHelp,
	Run: func(c *command.Call) error {
		flags, name := NewTargetFlags(c), toFlag(c)
		asJSON := c.Bool("json", false, "print JSON")
		to, err := parseTarget(c, 0, name)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 4**flags.Timeout)
		defer cancel()
		t, err := flags.find(ctx, to)
		if err != nil {
			return err
		}
		s, err := t.status(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			return c.WriteJSON(s)
		}
		out := bufio.NewWriter(c.Stdout)
		s.write(out)
		return out.Flush()
	},
}

// fileStatus is what is known of a file, without the processes that read it.
type fileStatus struct {
	Plan  *plan.Plan `json:"plan"`
	Hash  string     `json:"hash,omitempty"`
	Error string     `json:"error,omitempty"`
}

func (s fileStatus) write(out io.Writer) {
	switch {
	case s.Error != "":
		fmt.Fprintf(out, "no valid plan: %s\n", s.Error)
	case s.Plan == nil:
		fmt.Fprintln(out, "no plan")
	default:
		fmt.Fprintln(out, planLine(s.Plan.ID, s.Plan.Generation, s.Plan.ExpiresAt))
	}
}

func planLine(id string, generation uint64, expires time.Time) string {
	return fmt.Sprintf("plan %s, generation %d, until %s", id, generation, expires.UTC().Format(time.RFC3339))
}

func (s viewerStatus) write(out io.Writer) {
	status := s.Status
	fmt.Fprintf(out, "%s%s\n", status.State, said(": ", status.Reason))
	if plan := new(plan.Plan); json.Unmarshal(s.Plan, plan) == nil && plan.ID != "" {
		fmt.Fprintf(out, "%s, from %s\n", planLine(plan.ID, plan.Generation, plan.ExpiresAt), status.Source)
		fmt.Fprintf(out, "spent %v of %v\n", status.Spent, status.Limits.Total)
	}
	if status.Experiment != "" {
		fmt.Fprintf(out, "experiment %s\n", status.Experiment)
	}
	if status.LastError != "" {
		fmt.Fprintf(out, "the last plan was refused: %s\n", status.LastError)
	}
	for _, source := range status.Sources {
		if source.Missed > 0 {
			fmt.Fprintf(out, "%s: no answer for %v, %d in a row: %s\n", source.Name, round(time.Since(source.Since)), source.Missed, source.Error)
		}
	}
	if !status.Enabled {
		fmt.Fprintln(out, "the program has not opted in to experiments: start it with "+naming.EnvExperiments+"=on")
	}
}

type fleetStatus planserver.Fleet

func (s fleetStatus) write(out io.Writer) {
	switch p := s.Plan; {
	case p == nil && s.Withdrawn != nil:
		w := s.Withdrawn
		fmt.Fprintf(out, "no plan: %s, generation %d, was withdrawn %s ago, since %s %s has %s\n", w.ID, w.Generation, round(time.Since(w.At)), w.Service, w.InstanceID, w.State)
	case p == nil:
		fmt.Fprintln(out, "no plan")
	case p.ID == "":
		fmt.Fprintf(out, "a document that is not a valid plan, SHA-256 %s\n", p.Hash)
	default:
		fmt.Fprintln(out, planLine(p.ID, p.Generation, p.ExpiresAt))
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVICE\tINSTANCE\tHOW\tSEEN\tPLAN\tSTATE\tERROR")
	for _, i := range s.Instances {
		has := string(i.Status)
		switch {
		case !i.Current:
			has = "another"
		case i.Hash == "":
			has = "none"
		case i.Status == planserver.StatusUnset:
			has = "given" // it polls, and does not report that
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s ago\t%s\t%s\t%s\n", i.Service, i.InstanceID, i.How, round(time.Since(i.LastSeen)), has, i.State, i.Error)
	}
	_ = t.Flush() // which out keeps the error of
}

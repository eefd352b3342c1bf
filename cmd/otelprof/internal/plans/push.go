package plans

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

var planPushCommand = &command.Command{
	Name:  "push",
	Args:  "FILE [TARGET]",
	Short: "Give a plan to a file, a program or a fleet",
	Long: targetHelp + `
A plan that is not valid is not sent, nor one whose generation is not above that of the last
plan there: programs would refuse it, and end what they do. -bump raises it. The signature in
FILE.sig goes along; -key makes it anew. With -force the document is sent whatever it is, to see programs
refuse it.
`,
	Run: func(c *command.Call) error {
		flags, name := NewTargetFlags(c), toFlag(c)
		bump := c.Bool("bump", false, "raise the generation to the clock's, and above that of the last plan")
		key := c.String("key", "", "`file` with the private key to sign with")
		force := c.Bool("force", false, "send what is not a valid plan, too")
		to, err := parseTarget(c, 1, name)
		if err != nil {
			return err
		}
		if *bump && *force {
			return command.Usagef("bump: must not be beside -force")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 4**flags.Timeout)
		defer cancel()
		t, err := flags.find(ctx, to)
		if err != nil {
			return err
		}
		return push(ctx, c, t, pushed{name: c.Arg(0), key: *key, bump: *bump, force: *force})
	},
}

// A pushed document is what push makes of a file.
type pushed struct {
	name, key   string
	bump, force bool
}

func push(ctx context.Context, c *command.Call, t target, p pushed) error {
	document, err := readPlan(c, p.name)
	if err != nil {
		return err
	}
	plan, err := plan.Parse(document)
	if err != nil && !p.force {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	if plan != nil && !p.force {
		last, err := t.generation(ctx)
		if err != nil {
			return err
		}
		switch {
		case p.bump:
			if document, plan, err = bumped(document, last, time.Now()); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		case plan.Generation != 0 && plan.Generation <= last:
			return fmt.Errorf("%s: generation %d: must be above %d, that of the last plan at %s; -bump raises it", p.name, plan.Generation, last, t)
		}
	}
	signature, err := signatureFor(c, p, document)
	if err != nil {
		return err
	}
	if err := t.Push(ctx, document, signature, p.force); err != nil {
		return err
	}
	signed := "not signed"
	if signature != nil {
		signed = "signed"
	}
	if plan == nil {
		fmt.Fprintf(c.Stdout, "pushed what is not a valid plan, %s, to %s\n", signed, t)
		return nil
	}
	fmt.Fprintf(c.Stdout, "pushed plan %s, generation %d, %s, to %s\n", plan.ID, plan.Generation, signed, t)
	return nil
}

func signatureFor(c *command.Call, p pushed, document []byte) ([]byte, error) {
	switch {
	case p.key != "" && p.force:
		return signWith(p.key, document)
	case p.key != "":
		return signedBy(c, p.name, p.key, document)
	}
	signature, err := readSignature(p.name)
	if err == nil && signature != nil && p.bump {
		return nil, fmt.Errorf("%s.sig: signs another generation: -bump must be beside -key", p.name)
	}
	return signature, err
}

// generationLine is a plan's generation in YAML or JSON that has a line for each key.
var generationLine = regexp.MustCompile(`(?m)^([ \t]*"?generation"?[ \t]*:[ \t]*)\d+`)

// bumped gives a plan a generation that is the clock's, and above the last one. All else stays as
// it is, comments included.
func bumped(document []byte, last uint64, now time.Time) ([]byte, *plan.Plan, error) {
	next := strconv.FormatUint(max(last+1, uint64(now.Unix())), 10)
	out := generationLine.ReplaceAll(document, []byte("${1}"+next))
	if !generationLine.Match(document) {
		out = append([]byte("generation: "+next+"\n"), document...)
	}
	plan, err := plan.Parse(out)
	if err != nil || strconv.FormatUint(plan.Generation, 10) != next {
		return nil, nil, errors.New("generation: must be on a line of its own, or missing in YAML, to be raised")
	}
	return out, plan, nil
}

var planStopCommand = &command.Command{
	Name:  "stop",
	Args:  "[TARGET]",
	Short: "End the plan of a file, a program or a fleet",
	Long: targetHelp + `
A file is removed. Programs that poll see it at their next poll, others at once.
`,
	Run: func(c *command.Call) error {
		flags, name := NewTargetFlags(c), toFlag(c)
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
		said := "stopped at"
		if file, ok := t.(fileTarget); ok && file.missing() {
			said = "there is no plan at"
		}
		if err := t.Stop(ctx); err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "%s %s\n", said, t)
		return nil
	},
}

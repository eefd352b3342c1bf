package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/explain/tools"
)

// Explain is the command explain.
var Explain = &command.Command{
	Name:  "explain",
	Args:  "[URL | FILE…]",
	Short: "Say why a region or a request is slow: what it waits for, and who holds that",
	Long: `
A URL, or HOST:PORT, is that of a program's viewer; without an argument it is that in OTELPROF_URL. FILEs are what
otelprof view takes, an execution trace included. Without -region and -session it is about the slowest request.
`,
	Run: func(c *command.Call) error {
		region := c.String("region", "", "`name` of a span: latency, waits, counters, slowest requests")
		scope := c.String("scope", "", "`scope` of the tracer of -region, where several have a region of that name")
		session := c.String("session", "", "`ID` of a session or a trace: its spans, with self times and waits")
		foretold := c.Bool("foretold", false, "say what was foretold of versions before, and what came")
		timeout := c.Duration("timeout", 10*time.Second, "`time` that a request may take")
		if err := c.ParseArgs(0, -1); err != nil {
			return err
		}
		switch {
		case *region != "" && *session != "":
			return command.Usagef("session: must not be beside -region")
		case *scope != "" && *region == "":
			return command.Usagef("scope %q: must be beside -region", *scope)
		case *foretold && *region+*session != "":
			return command.Usagef("foretold: must not be beside -region and -session")
		}
		ctx := context.Background()
		api, err := sourceOf(ctx, c, client.Names(c.Args()), *timeout)
		if err != nil {
			return err
		}
		text := ""
		switch {
		case *foretold:
			text, err = tools.Verify(ctx, api)
		case *region != "":
			text, err = tools.Explain(ctx, api, *region, *scope)
		default:
			text, err = tools.Session(ctx, api, *session, "")
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(c.Stdout, text)
		return err
	},
}

package agent

import (
	"context"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/explain/tools"
	"github.com/otelprof/otelprof/internal/http/mcp"
	"github.com/otelprof/otelprof/internal/naming"
)

// MCP is the command mcp.
var MCP = &command.Command{
	Name:  "mcp",
	Args:  "[URL | FILE…]",
	Short: "Serve what is known to a coding agent, by the Model Context Protocol",
	Long: `
It answers on standard input and output, until the input ends. A URL, or HOST:PORT, is that of a
program's viewer; without an argument it is that in OTELPROF_URL. FILEs are what otelprof view
takes, an execution trace included. A viewer answers agents itself, too, at /mcp.

All tools only read, except experiment, which is there with -experiments alone. It needs in the
program OTELPROF_EXPERIMENTS=on and OTELPROF_VIEWER_TOKEN_FILE, here that token in OTELPROF_TOKEN,
and stays within the program's caps. The audit has it as an agent's.
`,
	Run: func(c *command.Call) error {
		experiments := c.Bool("experiments", false, "let the agent start experiments that delay the program a little")
		timeout := c.Duration("timeout", 10*time.Second, "`time` that a request may take")
		if err := c.ParseArgs(0, -1); err != nil {
			return err
		}
		ctx := context.Background() // a signal ends the program, which reads standard input
		api, err := sourceOf(ctx, c, client.Names(c.Args()), *timeout)
		if err != nil {
			return err
		}
		s := &mcp.Server{Name: "otelprof", Version: naming.Version(), Instructions: tools.Instructions, Tools: tools.New(api, *experiments)}
		return s.Serve(ctx, c.Stdin, c.Stdout)
	},
}

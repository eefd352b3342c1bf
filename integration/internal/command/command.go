// Package command has what the main functions of these commands have in common.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

// Main runs a command, with a context that ends when it is interrupted, or by one of the signals.
// An error ends the process with status 1, unless help was asked for.
func Main(name string, run func(context.Context) error, signals ...os.Signal) {
	ctx, stop := signal.NotifyContext(context.Background(), append(signals, os.Interrupt)...)
	err := run(ctx)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

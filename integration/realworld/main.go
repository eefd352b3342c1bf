package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "realworld:", err)
		os.Exit(1)
	}
}

// run builds all programs.
func run(ctx context.Context) error {
	root, err := checkout(ctx)
	if err != nil {
		return err
	}
	tools := filepath.Join(root, ".tools", "realworld")
	tool, err := buildTool(ctx, root, tools)
	if err != nil {
		return err
	}
	for _, p := range programs() {
		s, err := prepare(ctx, p, root, tools)
		if err != nil {
			return err
		}
		for _, b := range []build{stock, byTheTool} {
			binary, err := s.build(ctx, b, tool)
			if err != nil {
				return err
			}
			fmt.Println(binary)
		}
	}
	return nil
}

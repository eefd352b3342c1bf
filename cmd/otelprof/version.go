package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

var versionCommand = &command.Command{
	Name:  "version",
	Short: "Print which build of otelprof this is",
	Run: func(c *command.Call) error {
		if err := c.ParseArgs(0, 0); err != nil {
			return err
		}
		info, _ := debug.ReadBuildInfo()
		fmt.Fprintln(c.Stdout, version(info))
		return nil
	},
}

// version returns in one line of which source, and by which Go, a program was built.
func version(info *debug.BuildInfo) string {
	if info == nil {
		return "otelprof of an unknown version, " + runtime.Version()
	}
	parts := []string{"otelprof " + info.Main.Version}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			parts = append(parts, "revision "+s.Value)
		case s.Key == "vcs.modified" && s.Value == "true":
			parts = append(parts, "modified")
		}
	}
	return strings.Join(append(parts, info.GoVersion), ", ")
}

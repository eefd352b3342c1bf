package main

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	built := &debug.BuildInfo{GoVersion: "go1.26.1", Settings: []debug.BuildSetting{
		{Key: "GOOS", Value: "linux"}, {Key: "vcs.revision", Value: "526f492"}, {Key: "vcs.modified", Value: "true"},
	}}
	built.Main.Version = "v0.3.0"
	installed := &debug.BuildInfo{GoVersion: "go1.26.1"}
	installed.Main.Version = "v0.3.0"
	for want, info := range map[string]*debug.BuildInfo{
		"otelprof v0.3.0, revision 526f492, modified, go1.26.1": built,
		"otelprof v0.3.0, go1.26.1":                             installed,
	} {
		if got := version(info); got != want {
			t.Errorf("version(%v) = %q, want %q", info, got, want)
		}
	}
}

package mcp

import "runtime/debug"

// OwnVersion is the version of this module in the program, "" where that is not known: what a
// [Server] of ours is called by.
func OwnVersion() string {
	const module = "github.com/otelprof/otelprof"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}

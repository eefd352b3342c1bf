package naming

import (
	"runtime/debug"
	"sync"
)

// Version is the version of this module in the program, "" where the build does not know: what it
// calls itself by where it speaks to others.
var Version = sync.OnceValue(func() string {
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
})

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/otelprof/otelprof/internal/testutil"
)

// The first of these builds compiles the standard library anew, which takes a minute or so; later ones find it in the
// cache.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN").Output()
	if err != nil {
		testutil.Lacks(t, "GO", "needs the go command: "+err.Error())
	}
	known := map[string]string{}
	if err := json.Unmarshal(out, &known); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "build"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// What is written stays below the script's folder, and so do the replaced files' paths.
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache")) // which ./... leaves out
			e.Setenv("GOFLAGS", "")
			for name, value := range known {
				e.Setenv(name, value)
			}
			return nil
		},
	})
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

// The first of these builds compiles the standard library anew, which takes a minute or so; later
// ones find it in the cache.
func TestBuild(t *testing.T) { build(t, ".") }

func TestBuildCgo(t *testing.T) {
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || string(out) != "1\n" {
		testutil.Lacks(t, "CGO", "needs a C compiler")
	}
	build(t, "cgo")
}

func TestBuildFull(t *testing.T) {
	full(t)
	build(t, "full")
}

func TestBuildToolchains(t *testing.T) {
	full(t)
	for _, version := range []string{"go1.25.5", "go1.26.0", "go1.27.4"} {
		cmd := exec.Command("go", "version")
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+version)
		if out, err := cmd.CombinedOutput(); err != nil {
			testutil.Lacks(t, "TOOLCHAINS", fmt.Sprintf("needs %s: %v: %s", version, err, out))
		}
	}
	build(t, "toolchains")
}

// full skips a test that compiles the standard library several times more. They are part of make
// test-runtime.
func full(t *testing.T) {
	t.Helper()
	if os.Getenv("OTELPROF_TEST_BUILDS") == "" {
		t.Skip("takes minutes; OTELPROF_TEST_BUILDS=1 runs it")
	}
}

// build runs the scripts of a folder, with the go command's caches as they are.
func build(t *testing.T, dir string) {
	if !*thorough.Rounds && os.Getenv("OTELPROF_TEST_BUILDS") == "" {
		t.Skip("compiles the standard library; -long runs it, as make test-long does")
	}
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN").Output()
	if err != nil {
		testutil.Lacks(t, "GO", "needs the go command: "+err.Error())
	}
	known := map[string]string{}
	if err := json.Unmarshal(out, &known); err != nil {
		t.Fatal(err)
	}
	if known["OTELPROF"], err = filepath.Abs(filepath.Join("..", "..")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "build", dir),
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

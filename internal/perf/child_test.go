package perf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// childVariable names what a child process of these tests does in place of the tests. What
// it takes from itself, permissions above all, a process cannot get back.
const childVariable = "OTELPROF_PERF_CHILD"

// children are entered by the tests that use them.
var children = map[string]func() error{}

func runChild(name string) int {
	child := children[name]
	if child == nil {
		child = func() error { return errors.New("no such child") }
	}
	if err := child(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// inChild runs one of the children and fails the test with what it says.
func inChild(t *testing.T, name string, change func(*exec.Cmd)) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childVariable+"="+name)
	if change != nil {
		change(child)
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("child %s: %v: %s", name, err, out)
	}
}

package pmuattrs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// childVariable names what a child process of these tests does in place of the tests. What
// it takes from itself, permissions above all, a process cannot get back.
const childVariable = "OTELPROF_PMUATTRS_CHILD"

// children are entered by the tests that use them.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	name := os.Getenv(childVariable)
	if name == "" {
		goleak.VerifyTestMain(m)
	}
	child := children[name]
	if child == nil {
		child = func() error { return errors.New("no such child") }
	}
	if err := child(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// inChild runs one of the children and fails the test with what it says.
func inChild(t *testing.T, name string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childVariable+"="+name)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("child %s: %v: %s", name, err, out)
	}
}

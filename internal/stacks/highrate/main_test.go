package highrate

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childVariable names what a child process of these tests does in place of the tests.
const childVariable = "OTELPROF_HIGHRATE_CHILD"

// children are entered by the tests that use them.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		child := children[name]
		if child == nil {
			child = func() error { return errors.New("no such child") }
		}
		if err := child(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

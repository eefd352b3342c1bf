package hdrtest_test

import (
	"fmt"
	"strings"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/otelhdr/hdrtest"
)

func ExampleComparison_Run() {
	parts := strings.Fields(strings.Repeat("abc ", 2000))
	plus := func() {
		s := ""
		for _, p := range parts {
			s += p
		}
		_ = s
	}
	join := func() { _ = strings.Join(parts, "") }
	j, err := hdrtest.Comparison{Judge: otelhdr.Judge{Margin: 0.05}, Turns: 20}.Run(plus, join)
	fmt.Println(j.Verdict, err)
	// Output: faster <nil>
}

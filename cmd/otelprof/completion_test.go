package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// Bash completes commands, those below them, and flags.
func TestCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testutil.Lacks(t, "BASH", "bash is not installed")
	}
	var script, none strings.Builder
	if status := run([]string{"completion", "bash"}, nil, &script, &none); status != 0 {
		t.Fatalf("status %d: %s", status, &none)
	}
	// The flags of a command, as its help has them.
	const flags = "otelprof() { printf '%s\\n' 'usage: otelprof' 'Flags:' '  -region string' '  -record duration'; }\n"
	for words, want := range map[string]string{
		"otelprof wh":             "whatif",
		"otelprof plan st":        "stop status",
		"otelprof explain -re":    "-region -record",
		"otelprof plan push -reg": "-region",
	} {
		list := strings.Fields(words)
		call := "COMP_WORDS=(" + words + "); COMP_CWORD=" + string(rune('0'+len(list)-1)) + "; _otelprof; echo ${COMPREPLY[@]}"
		out, err := exec.Command(bash, "-c", script.String()+flags+call).CombinedOutput()
		got := strings.Fields(string(out))
		if err != nil || len(got) != len(strings.Fields(want)) || !strings.Contains(" "+strings.Join(got, " ")+" ", " "+strings.Fields(want)[0]+" ") {
			t.Errorf("%q: %q, %v; want %q", words, out, err, want)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		script.Reset()
		if status := run([]string{"completion", shell}, nil, &script, &none); status != 0 || !strings.Contains(script.String(), "whatif") || strings.Contains(script.String(), "@verbs@") {
			t.Errorf("%s: status %d:\n%s", shell, status, &script)
		}
	}
	if status := run([]string{"completion", "tcsh"}, nil, &script, &none); status != 2 || !strings.Contains(none.String(), "must be bash, zsh or fish") {
		t.Errorf("tcsh: status %d: %s", status, &none)
	}
}

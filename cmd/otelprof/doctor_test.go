package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/doctor"
	"github.com/otelprof/otelprof/pmuattrs"
)

func TestDoctorRequire(t *testing.T) {
	linux := doctor.Report{
		Source: pmuattrs.SourceUsage,
		Abilities: []doctor.Check{
			{Name: "hw", Status: doctor.StatusMissing},
			{Name: "rusage", Status: doctor.StatusOK},
			{Name: "rdpmc", Status: doctor.StatusUntried},
		},
		Conditions: []doctor.Check{{Name: "open_files", Status: doctor.StatusLimited}},
	}
	other := doctor.Report{Source: doctor.SourceNone}
	off := linux
	off.Counts = []doctor.KnownCount{
		{Work: "random branches", Event: "instructions", Status: doctor.StatusOK},
		{Work: "random branches", Event: "branch_misses", Status: doctor.StatusOff},
	}
	for _, test := range []struct {
		report        doctor.Report
		require, want string
		usage         bool
	}{
		{report: linux},
		{report: linux, require: "rusage,open_files"},
		{report: linux, require: "hw", want: "doctor: hw: required, but missing here"},
		{report: linux, require: "rusage,hw,rdpmc", want: "doctor: hw, rdpmc: required, but missing here"},
		{report: off, want: "doctor: not counted as expected: branch_misses of random branches"},
		{report: linux, require: "hardware", usage: true},
		{report: other, want: "doctor: spans can have no counters here"},
		{report: other, require: "timerfd", want: "doctor: timerfd: required, but missing here"},
	} {
		var out bytes.Buffer
		err := checked(&command.Call{Stdout: &out}, test.report, false, test.require)
		switch {
		case test.usage:
			if !errors.Is(err, command.ErrUsage) || out.Len() > 0 {
				t.Errorf("require %q: %v, output %q; want a usage error", test.require, err, &out)
			}
		case err == nil && test.want != "", err != nil && err.Error() != test.want:
			t.Errorf("require %q: %v, want %q", test.require, err, test.want)
		case out.Len() == 0:
			t.Errorf("require %q: no output", test.require)
		}
	}
}

// TestDoctorChecks checks that all that can be required is there.
func TestDoctorChecks(t *testing.T) {
	var out bytes.Buffer
	if err := printReport(&command.Call{Stdout: &out}, doctor.Probe(), true); err != nil {
		t.Fatal(err)
	}
	var r doctor.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Conditions == nil {
		return // not Linux
	}
	var names []string
	for _, c := range slices.Concat(r.Abilities, r.Conditions) {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff(doctorChecks, names); diff != "" {
		t.Errorf("names of checks (-want +got):\n%s", diff)
	}
}

func TestWantsColour(t *testing.T) {
	terminal, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, too
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, test := range []struct {
		name string
		got  bool
		want bool
	}{
		{"terminal", command.WantsColour(terminal, environment(nil)), true},
		{"NO_COLOR", command.WantsColour(terminal, environment(map[string]string{"NO_COLOR": "1"})), false},
		{"empty NO_COLOR", command.WantsColour(terminal, environment(map[string]string{"NO_COLOR": ""})), true},
		{"dumb", command.WantsColour(terminal, environment(map[string]string{"TERM": "dumb"})), false},
		{"file", command.WantsColour(file, environment(nil)), false},
		{"buffer", command.WantsColour(new(bytes.Buffer), environment(nil)), false},
	} {
		if test.got != test.want {
			t.Errorf("%s: wantsColour = %t, want %t", test.name, test.got, test.want)
		}
	}
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

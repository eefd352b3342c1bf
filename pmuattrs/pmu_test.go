package pmuattrs

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/otelprof/otelprof/internal/perf"
)

// devices has what the kernel says on a machine with an x86 PMU, and what it might say.
var devices = fstest.MapFS{
	"cpu/type":                 {Data: []byte("4\n")},
	"cpu/format/event":         {Data: []byte("config:0-7\n")},
	"cpu/format/umask":         {Data: []byte("config:8-15\n")},
	"cpu/format/inv":           {Data: []byte("config:23\n")},
	"cpu/format/wide":          {Data: []byte("config:0-7,32-35\n")},
	"cpu/format/ldlat":         {Data: []byte("config1:0-15\n")},
	"cpu/format/odd":           {Data: []byte("config3:0-15\n")},
	"cpu/format/broken":        {Data: []byte("config:0-99\n")},
	"cpu/events/branch-misses": {Data: []byte("event=0xc5\n")},
	"cpu/events/mem-loads":     {Data: []byte("event=0xcd,umask=0x1,ldlat=3\n")},
	"cpu/events/loop":          {Data: []byte("loop\n")},
	"cpu/events/parameter":     {Data: []byte("event=?\n")},
	"broken/type":              {Data: []byte("four\n")},
	"uncore_imc/type":          {Data: []byte("14\n")},
}

func TestPMUEvent(t *testing.T) {
	for _, test := range []struct {
		terms string
		want  perf.Event
		name  string
	}{
		{"event=0x3c,umask=0x1", perf.Event{Type: 4, Config: 0x13c}, "cpu.event_0x3c.umask_0x1"},
		{"event=60,inv", perf.Event{Type: 4, Config: 1<<23 | 60}, "cpu.event_60.inv"},
		{"wide=0xabc", perf.Event{Type: 4, Config: 0xa_0000_00bc}, "cpu.wide_0xabc"},
		{"branch-misses", perf.Event{Type: 4, Config: 0xc5}, "cpu.branch_misses"},
		{"mem-loads", perf.Event{Type: 4, Config: 0x1cd, Config1: 3}, "cpu.mem_loads"},
		{"config=0x7,config1=8,config2=9", perf.Event{Type: 4, Config: 7, Config1: 8, Config2: 9}, "cpu.config_0x7.config1_8.config2_9"},
		{"event=0x3c,name=busy", perf.Event{Type: 4, Config: 0x3c}, "busy"},
	} {
		got, err := pmuEvent(devices, "cpu", test.terms)
		if err != nil || got.perf != test.want || got.Name() != test.name {
			t.Errorf("cpu/%s/ = %+v, %q, %v, want %+v, %q", test.terms, got.perf, got.Name(), err, test.want, test.name)
		}
		if want := "cpu/" + test.terms + "/"; got.String() != want || got.WithKernel().String() != want+"uk" {
			t.Errorf("String = %q, %q, want %q, with uk", got, got.WithKernel(), want)
		}
	}
}

func TestPMUEventErrors(t *testing.T) {
	for _, test := range []struct{ pmu, terms, says string }{
		{"cpuu", "event=1", "did you mean cpu?"},
		{"cpu", "evnt=1", "did you mean event?"},
		{"cpu", "branch-mises", "did you mean branch-misses?"},
		{"cpu", "event=256", "must fit into the bits 0-7"},
		{"cpu", "wide=0x1000", "must fit into the bits 0-7,32-35"},
		{"cpu", "event=many", "invalid syntax"},
		{"cpu", "event=", "invalid syntax"},
		{"cpu", "odd=1", `"config3" is not known`},
		{"cpu", "broken=1", "out of range"},
		{"cpu", "loop", `has no "loop"`},
		{"cpu", "parameter", "invalid syntax"},
		{"cpu", "name=Busy,event=1", "must consist of"},
		{"cpu", "name=a..b,event=1", "must consist of"},
		{"cpu", "", "must have the form"},
		{"", "event=1", "must have the form"},
		{"..", "event=1", "must have the form"},
		{"cpu/events", "event=1", "no PMU"},
		{"broken", "config=1", "invalid syntax"},
	} {
		if got, err := pmuEvent(devices, test.pmu, test.terms); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s/%s/ = %v, %v, want an error that says %q", test.pmu, test.terms, got, err, test.says)
		}
	}
}

func FuzzPMUEvent(f *testing.F) {
	f.Add("cpu", "event=0x3c,umask=1")
	f.Add("cpu", "mem-loads,name=loads")
	f.Add("uncore_imc", "config=1")
	f.Fuzz(func(t *testing.T, pmu, terms string) {
		e, err := pmuEvent(devices, pmu, terms)
		if err == nil && (!attributeNames.MatchString(e.Name()) || e.perf.Kernel) {
			t.Errorf("%s/%s/ = %+v", pmu, terms, e)
		}
	})
}

package pmuattrs

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/internal/naming"
)

// kernelSuffix on an event's text stands for WithKernel.
const kernelSuffix = ":uk"

// ParseEvent returns the event that the text names. It knows
//
//   - the names of this package: cycles, branch_misses, l1d.read_misses;
//   - those of the perf command: cpu-cycles, branch-misses, L1-dcache-load-misses;
//   - raw ones, a PMU's own numbers in hexadecimal: r01c2;
//   - events that the kernel describes in /sys/bus/event_source/devices, by the PMU's name and
//     terms: cpu/event=0x3c,umask=0x0/, cpu/mem-loads/, with name=stores for a name of one's own.
//
// With :uk at the end, or uk after the last slash, the kernel's part is counted too; :u stands
// for user code, which is what holds without it.
func ParseEvent(text string) (Event, error) {
	var e Event
	var err error
	bare, modifier := cutModifier(text)
	if strings.Contains(text, "/") {
		pmu, terms, _ := strings.Cut(bare, "/")
		e, err = pmuEvent(os.DirFS("/sys/bus/event_source/devices"), pmu, terms)
	} else {
		e, err = namedEvent(bare)
	}
	if err != nil {
		return Event{}, fmt.Errorf("%w %q: %w", ErrEvent, text, err)
	}
	switch modifier {
	case "", "u":
		return e, nil
	case "uk", "ku":
		return e.WithKernel(), nil
	}
	return Event{}, fmt.Errorf("%w %q: modifier %q: must be u or uk", ErrEvent, text, modifier)
}

// cutModifier splits cycles:uk into cycles and uk, cpu/event=1/uk into cpu/event=1 and uk.
func cutModifier(text string) (bare, modifier string) {
	separator := ":"
	if strings.Contains(text, "/") {
		separator = "/"
	}
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+1:]
}

// perfWords turns the perf command's names, in lower case and with underscores, into ours.
var perfWords = strings.NewReplacer(
	"l1_dcache_", "l1d.", "l1_icache_", "l1i.", "llc_", "ll.", "dtlb_", "dtlb.", "itlb_", "itlb.",
	"load_misses", "read_misses", "store_misses", "write_misses", "loads", "reads", "stores", "writes",
)

// perfNames are those of its names that differ by more.
var perfNames = map[string]Event{
	"cpu_cycles":           Cycles,
	"branches":             BranchInstructions,
	"branch_read_misses":   branchReadMisses,
	"branch_reads":         branchReads,
	"idle_cycles_frontend": stalledCyclesFrontend,
	"idle_cycles_backend":  stalledCyclesBackend,
	"faults":               PageFaults,
	"cs":                   ContextSwitches,
	"migrations":           CPUMigrations,
}

func namedEvent(text string) (Event, error) {
	name := perfWords.Replace(strings.ReplaceAll(strings.ToLower(text), "-", "_"))
	names := make([]string, 0, len(named))
	for _, e := range named {
		if e.name == name {
			return e, nil
		}
		names = append(names, e.name)
	}
	if e, ok := perfNames[name]; ok {
		return e, nil
	}
	if digits, ok := strings.CutPrefix(name, "r"); ok {
		if config, err := strconv.ParseUint(digits, 16, 64); err == nil {
			return rawEvent(config), nil
		}
	}
	return Event{}, fmt.Errorf("unknown%s", naming.Suggest(name, names))
}

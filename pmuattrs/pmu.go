package pmuattrs

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/perf"
)

// A PMU in sysfs has the files type, format/* which say where in the configuration a term's
// bits go, and events/* which are shorthands for terms:
//
//	cpu/type                  4
//	cpu/format/umask          config:8-15
//	cpu/events/branch-misses  event=0xc5

// rawEvent is the event of the CPU's PMU with that number.
func rawEvent(config uint64) Event {
	return Event{name: "r" + strconv.FormatUint(config, 16), unit: unitOfRaw, perf: perf.Event{Type: perf.TypeRaw, Config: config}}
}

const unitOfRaw = "{event}"

// pmuEvent makes an event of a PMU's name and terms; devices is /sys/bus/event_source/devices.
func pmuEvent(devices fs.FS, pmu, terms string) (Event, error) {
	if pmu == "" || strings.Trim(pmu, ".") == "" || terms == "" {
		return Event{}, errors.New("must have the form pmu/term,term=value/")
	}
	number, err := sysfsText(devices, pmu+"/type")
	if err != nil {
		return Event{}, fmt.Errorf("no PMU %s%s", pmu, naming.Suggest(pmu, sysfsNames(devices, ".")))
	}
	kind, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return Event{}, fmt.Errorf("PMU %s: %w", pmu, err)
	}
	p := pmuTerms{devices: devices, pmu: pmu}
	p.event.Type = uint32(kind)
	if err := p.add(terms, true); err != nil {
		return Event{}, err
	}
	e := Event{name: p.name, text: pmu + "/" + terms + "/", unit: unitOfRaw, perf: p.event}
	if e.name == "" {
		e.name = attributeName(pmu + "/" + terms)
	}
	return e, nil
}

// pmuTerms collects what the terms of one event say.
type pmuTerms struct {
	devices fs.FS
	pmu     string
	event   perf.Event
	name    string
}

func (p *pmuTerms) add(terms string, shorthands bool) error {
	for term := range strings.SplitSeq(terms, ",") {
		key, text, valued := strings.Cut(term, "=")
		if key == "name" {
			if p.name = text; text == "" || text != attributeName(text) {
				return fmt.Errorf("name %q: must consist of a-z, 0-9, _ and inner dots", text)
			}
			continue
		}
		if shorthands && !valued {
			if more, err := sysfsText(p.devices, p.pmu+"/events/"+key); err == nil {
				if err := p.add(more, false); err != nil {
					return fmt.Errorf("event %s: %w", key, err)
				}
				continue
			}
		}
		value := uint64(1)
		if valued {
			var err error
			if value, err = strconv.ParseUint(text, 0, 64); err != nil {
				return fmt.Errorf("term %s: %w", term, err)
			}
		}
		if err := p.set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// set puts the value into the bits of the term's format.
func (p *pmuTerms) set(key string, value uint64) error {
	format := key + ":0-63" // of config, config1 and config2 themselves
	if p.field(key) == nil {
		var err error
		if format, err = sysfsText(p.devices, p.pmu+"/format/"+key); err != nil {
			known := append(sysfsNames(p.devices, p.pmu+"/format"), sysfsNames(p.devices, p.pmu+"/events")...)
			return fmt.Errorf("PMU %s has no %q%s", p.pmu, key, naming.Suggest(key, known))
		}
	}
	name, ranges, _ := strings.Cut(format, ":")
	field := p.field(name)
	if field == nil {
		return fmt.Errorf("format %s of PMU %s: %q is not known", key, p.pmu, name)
	}
	left := value
	for r := range strings.SplitSeq(ranges, ",") {
		from, to, ok := strings.Cut(r, "-")
		if !ok {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 6)
		last, err2 := strconv.ParseUint(to, 10, 6)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("format %s of PMU %s: %w", key, p.pmu, err)
		}
		for bit := first; bit <= last; bit++ {
			*field |= (left & 1) << bit
			left >>= 1
		}
	}
	if left != 0 {
		return fmt.Errorf("term %s=%#x: must fit into the bits %s", key, value, ranges)
	}
	return nil
}

func (p *pmuTerms) field(name string) *uint64 {
	switch name {
	case "config":
		return &p.event.Config
	case "config1":
		return &p.event.Config1
	case "config2":
		return &p.event.Config2
	}
	return nil
}

// attributeName makes a name for an attribute of any text: cpu.event_0x3c.umask_0x1.
func attributeName(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == '/', r == ',':
			return '.'
		}
		return '_'
	}, text)
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '.' }), ".")
}

func sysfsText(devices fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(devices, name)
	return strings.TrimSpace(string(text)), err
}

// sysfsNames returns the names in a folder, none if it is not there.
func sysfsNames(devices fs.FS, folder string) []string {
	entries, err := fs.ReadDir(devices, folder)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

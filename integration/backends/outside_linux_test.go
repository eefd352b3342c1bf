package backends

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// An outsider reads another process as a profiler of the whole machine does: from its memory, with
// what the program's file says of it. It has nothing of the code that publishes.
type outsider struct {
	process    *os.Process
	memory     *os.File
	goroutines uint64 // address of the runtime's list of them
	labels     uint64 // offset of a goroutine's labels
}

func newOutsider(t testing.TB, p *process) *outsider {
	t.Helper()
	o := &outsider{process: p.cmd.Process}
	var err error
	if o.memory, err = os.Open(o.proc("mem")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.memory.Close() })
	program, err := elf.Open(p.cmd.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	symbols, err := program.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "runtime.allgs" {
			o.goroutines = s.Value
		}
	}
	types, err := program.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	if o.labels, err = offset(types, "runtime.g", "labels"); err != nil || o.goroutines == 0 {
		t.Fatalf("%s: goroutines at %#x, labels: %v", p.cmd.Path, o.goroutines, err)
	}
	return o
}

func (o *outsider) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", o.process.Pid, name) }

// offset returns where a field of a struct is.
func offset(types *dwarf.Data, name, field string) (uint64, error) {
	for r := types.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			return 0, fmt.Errorf("type %s: %w", name, errors.Join(err, errors.New("is not there")))
		}
		if e.Tag != dwarf.TagStructType || e.Val(dwarf.AttrName) != name {
			continue
		}
		kind, err := types.Type(e.Offset)
		if err != nil {
			return 0, err
		}
		if s, ok := kind.(*dwarf.StructType); ok {
			for _, f := range s.Field {
				if f.Name == field {
					return uint64(f.ByteOffset), nil
				}
			}
		}
		return 0, fmt.Errorf("type %s: has no field %s", name, field)
	}
}

func (o *outsider) read(address uint64, size int) ([]byte, error) {
	b := make([]byte, size)
	_, err := o.memory.ReadAt(b, int64(address))
	return b, err
}

// words reads n words.
func (o *outsider) words(address uint64, n int) ([]uint64, error) {
	b, err := o.read(address, 8*n)
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.NativeEndian.Uint64(b[8*i:])
	}
	return out, err
}

// context reads the process context: the attributes of the resource, and others.
func (o *outsider) context() (resource, others map[string]string, err error) {
	maps, err := os.ReadFile(o.proc("maps"))
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.Contains(line, ":OTEL_CTX") {
			continue
		}
		var begin uint64
		if _, err := fmt.Sscanf(line, "%x-", &begin); err != nil {
			return nil, nil, err
		}
		h, err := o.read(begin, 32)
		if err != nil {
			return nil, nil, err
		}
		if string(h[:8]) != "OTEL_CTX" || binary.NativeEndian.Uint32(h[8:]) != 2 || binary.NativeEndian.Uint64(h[16:]) == 0 {
			return nil, nil, fmt.Errorf("header % x: must be OTEL_CTX, version 2, with a time", h)
		}
		payload, err := o.read(binary.NativeEndian.Uint64(h[24:]), int(binary.NativeEndian.Uint32(h[12:])))
		if err != nil {
			return nil, nil, err
		}
		return decodeContext(payload)
	}
	return nil, nil, errors.New("no mapping OTEL_CTX")
}

// decodeContext reads a ProcessContext: field 1 is the resource, field 2 other attributes.
func decodeContext(payload []byte) (resource, others map[string]string, err error) {
	resource, others = map[string]string{}, map[string]string{}
	for len(payload) > 0 {
		field, kind, n := protowire.ConsumeTag(payload)
		in, m := protowire.ConsumeBytes(payload[max(n, 0):])
		if n < 0 || m < 0 || kind != protowire.BytesType {
			return nil, nil, fmt.Errorf("payload % x: must be whole messages", payload)
		}
		payload = payload[n+m:]
		var (
			r  resourcepb.Resource
			kv commonpb.KeyValue
		)
		switch field {
		case 1:
			err = proto.Unmarshal(in, &r)
			for _, kv := range r.Attributes {
				resource[kv.Key] = kv.Value.GetStringValue()
			}
		case 2:
			err = proto.Unmarshal(in, &kv)
			others[kv.Key] = kv.Value.GetStringValue()
		default:
			err = fmt.Errorf("field %d: must be 1 or 2", field)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return resource, others, nil
}

// stopped stops the process, calls f, and lets it go on: a profiler reads in an interrupt, when
// nothing changes.
func (o *outsider) stopped(t testing.TB, f func() error) error {
	if err := o.process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = o.process.Signal(syscall.SIGCONT) }()
	eventually(t, 10*time.Second, func() error {
		tasks, err := filepath.Glob(o.proc("task/*/stat"))
		for _, task := range tasks {
			stat, readErr := os.ReadFile(task)
			_, state, _ := strings.Cut(string(stat), ") ")
			if readErr == nil && !strings.HasPrefix(state, "T") {
				err = fmt.Errorf("%s: %.20q: must be stopped", task, state)
			}
		}
		return err
	})
	return f()
}

// mostLabels is how many labels of a goroutine the eBPF profiler takes.
const mostLabels = 10

// spans calls f with the span in the labels of each goroutine.
func (o *outsider) spans(f func(place)) error {
	list, err := o.words(o.goroutines, 2) // a slice
	if err != nil {
		return err
	}
	all, err := o.words(list[0], int(list[1]))
	if err != nil {
		return err
	}
	for _, g := range all {
		l, err := o.labelsOf(g)
		if err != nil {
			return err
		}
		if l["trace_id"] != "" {
			f(place{l["trace_id"], l["span_id"], l["span_name"]})
		}
	}
	return nil
}

func (o *outsider) labelsOf(g uint64) (map[string]string, error) {
	at, err := o.words(g+o.labels, 1)
	if err != nil || at[0] == 0 {
		return nil, err
	}
	list, err := o.words(at[0], 2) // a slice of two strings each
	if err != nil || list[1] == 0 {
		return nil, err
	}
	words, err := o.words(list[0], 4*min(int(list[1]), mostLabels))
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for ; len(words) > 0; words = words[4:] {
		key, errKey := o.read(words[0], int(words[1]))
		value, errValue := o.read(words[2], int(words[3]))
		if err := errors.Join(errKey, errValue); err != nil {
			return nil, err
		}
		labels[string(key)] = string(value)
	}
	return labels, nil
}

// TestProcessContext looks into the demo from outside, and asks Jaeger for the spans that
// goroutines were in.
func TestProcessContext(t *testing.T) {
	s := newStack(t, nil)
	shop := start(t, "shop", ours(t, "shop"), s.exporting("OTEL_BSP_MAX_QUEUE_SIZE=50000", "OTELPROF_PROCESS_CONTEXT=on"),
		"-clients", "2", "-listen", "127.0.0.1:0", "-data", t.TempDir(), "-plan", "off")
	o := newOutsider(t, shop)
	var resource, others map[string]string
	eventually(t, 30*time.Second, func() (err error) {
		resource, others, err = o.context()
		return err
	})
	if resource["service.name"] != "shop" || resource["service.instance.id"] == "" || others["threadlocal.schema_version"] != "go_pprof_labels_v1" {
		t.Errorf("process context %v, %v: want the shop's", resource, others)
	}
	seen := map[place]bool{}
	for look := range 100 {
		if err := o.stopped(t, func() error { return o.spans(func(p place) { seen[p] = true }) }); err != nil {
			t.Fatalf("look %d: %v", look, err)
		}
		time.Sleep(20 * time.Millisecond) // what the shop does next
	}
	if err := shop.stop(); err != nil { // which exports the last spans
		t.Fatalf("shop: %v\n%s", err, shop.tail())
	}
	var places []place
	for p := range seen {
		places = append(places, p)
	}
	asked, traces := s.jaeger.holds(t, places)
	if asked == 0 {
		t.Error("no goroutine was in a span")
	}
	check(t, "process_context", "figure=%d of %d spans that goroutines were in, of %d traces, are in Jaeger by that name; service %s, instance %s, %s, all read from outside",
		asked, asked, traces, resource["service.name"], resource["service.instance.id"], others["threadlocal.schema_version"])
}

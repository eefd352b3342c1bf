package processcontext

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/testutil"
)

// read is a reader outside: it finds the context of a process in its maps and reads it from its
// memory, as the specification says. It returns nil if there is none.
func read(t *testing.T, pid string) map[string]string {
	t.Helper()
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open("/proc/" + pid + "/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	at := func(address uint64, size int) []byte {
		b := make([]byte, size)
		if _, err := memory.ReadAt(b, int64(address)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	var out map[string]string
	for line := range strings.Lines(string(maps)) {
		if !isName(line) {
			continue
		}
		if out != nil {
			t.Error("the process has two contexts")
		}
		var begin, end uint64
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &rights); err != nil || rights != "rw-p" {
			t.Fatalf("maps: %q: %v, want rw-p", line, err)
		}
		header := at(begin, headerLen)
		if string(header[:8]) != "OTEL_CTX" || binary.NativeEndian.Uint32(header[8:]) != 2 || binary.NativeEndian.Uint64(header[16:]) == 0 {
			t.Fatalf("header % x: want OTEL_CTX, version 2, and a time", header)
		}
		out = decode(t, at(binary.NativeEndian.Uint64(header[24:]), int(binary.NativeEndian.Uint32(header[12:]))))
	}
	return out
}

// decode returns the attributes of the resource, and others after a plus sign.
func decode(t *testing.T, payload []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for len(payload) > 0 {
		field, kind, n := protowire.ConsumeTag(payload)
		if n < 0 || kind != protowire.BytesType {
			t.Fatalf("payload % x: %v", payload, protowire.ParseError(n))
		}
		in, m := protowire.ConsumeBytes(payload[n:])
		if m < 0 {
			t.Fatalf("payload % x: %v", payload, protowire.ParseError(m))
		}
		payload = payload[n+m:]
		switch field {
		case resourceField:
			var r resourcepb.Resource
			if err := proto.Unmarshal(in, &r); err != nil {
				t.Fatal(err)
			}
			for _, kv := range r.Attributes {
				out[kv.Key] = kv.Value.GetStringValue()
			}
		case attributesField:
			var kv commonpb.KeyValue
			if err := proto.Unmarshal(in, &kv); err != nil {
				t.Fatal(err)
			}
			out["+"+kv.Key] = kv.Value.GetStringValue()
		default:
			t.Errorf("field %d", field)
		}
	}
	return out
}

func TestPublish(t *testing.T) {
	r := resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("bad\xff", "\xfe"))
	want := map[string]string{"service.name": "shop", "bad\uFFFD": "\uFFFD"}
	for range 3 { // again, after it was closed
		c, err := Publish(r, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, read(t, "self")); diff != "" {
			t.Errorf("context (-want +got):\n%s", diff)
		}
		if _, err := Publish(r, false); !errors.Is(err, ErrPublished) {
			t.Errorf("second Publish: %v, want ErrPublished", err)
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if got := read(t, "self"); got != nil {
			t.Errorf("after Close there is %v", got)
		}
	}
}

func TestPublishLabels(t *testing.T) {
	c, err := Publish(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if diff := cmp.Diff(map[string]string{"+threadlocal.schema_version": "go_pprof_labels_v1"}, read(t, "self")); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

// Another library may have been first: there must not be two.
func TestPublishedByAnother(t *testing.T) {
	payload, err := encode(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newMapping(payload)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Publish(nil, false); !errors.Is(err, ErrPublished) {
		t.Errorf("Publish: %v, want ErrPublished", err)
	}
	if err := other.close(); err != nil {
		t.Error(err)
	}
}

func TestPublishRefuses(t *testing.T) {
	big := resource.NewSchemaless(attribute.String("big", strings.Repeat("x", maxPayload)))
	if _, err := Publish(big, false); err == nil || !strings.Contains(err.Error(), "must have at most 65536") {
		t.Errorf("Publish of 64 KiB and more: %v, want the limit", err)
	}
	almost := resource.NewSchemaless(attribute.String("big", strings.Repeat("x", maxPayload-100)))
	c, err := Publish(almost, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := read(t, "self")["big"]; len(got) != maxPayload-100 {
		t.Errorf("read %d bytes, want %d", len(got), maxPayload-100)
	}
}

// A child does not have it: its resource is another.
func TestChildrenDoNotInherit(t *testing.T) {
	c, err := Publish(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out, err := exec.Command("cat", "/proc/self/maps").Output()
	if err != nil {
		testutil.Lacks(t, "PROC", err.Error())
	}
	if strings.Contains(string(out), name) {
		t.Errorf("a child has the context:\n%s", out)
	}
}

func BenchmarkPublish(b *testing.B) {
	r := resource.NewSchemaless(attribute.String("service.name", "shop"))
	b.ReportAllocs()
	for b.Loop() {
		c, err := Publish(r, false)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

package processcontext

import (
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/sdk/resource"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/exporter/otlppb"
)

var (
	// ErrNotSupported is wrapped on systems other than Linux.
	ErrNotSupported = errors.New("processcontext: not supported")
	// ErrPublished is wrapped where this process has a context already, by whichever library: it
	// may have one.
	ErrPublished = errors.New("processcontext: published already")
)

// maxPayload is what readers take, in bytes.
const maxPayload = 64 << 10

// The attribute by which readers find what a thread is doing, see OTEP 4947.
const (
	schemaVersionKey = "threadlocal.schema_version"
	pprofLabels      = "go_pprof_labels_v1"
)

// A Context is published until Close.
type Context struct {
	once    sync.Once
	mapping *mapping
	err     error // of Close
}

// published guards the one context of the process.
var published struct {
	sync.Mutex
	is bool
}

// Publish publishes the resource; nil stands for an empty one. Labeled is true if goroutines have
// the labels trace_id and span_id of package runtime/pprof while they are in a sampled span. Any
// goroutine may call it. The error wraps [ErrNotSupported] or [ErrPublished], or says which step
// the kernel refused; nothing is left behind then. The attributes must have 64 KiB at most,
// encoded.
func Publish(r *resource.Resource, labeled bool) (*Context, error) {
	payload, err := encode(r, labeled)
	if err != nil {
		return nil, err
	}
	published.Lock()
	defer published.Unlock()
	if published.is {
		return nil, fmt.Errorf("%w: by this package", ErrPublished)
	}
	m, err := newMapping(payload)
	if err != nil {
		return nil, err
	}
	published.is = true
	return &Context{mapping: m}, nil
}

// Close takes the context back. A second call returns the same.
func (c *Context) Close() error {
	c.once.Do(func() {
		published.Lock()
		defer published.Unlock()
		c.err = c.mapping.close()
		published.is = false
	})
	return c.err
}

// The fields of message ProcessContext.
const (
	resourceField   = 1
	attributesField = 2
)

// encode returns a ProcessContext of opentelemetry.proto.processcontext.v1development.
func encode(r *resource.Resource, labeled bool) ([]byte, error) {
	in, err := proto.Marshal(&resourcepb.Resource{Attributes: otlppb.KeyValues(r.Attributes())})
	if err != nil {
		return nil, fmt.Errorf("processcontext: resource: %w", err)
	}
	payload := protowire.AppendTag(nil, resourceField, protowire.BytesType)
	payload = protowire.AppendBytes(payload, in)
	if labeled {
		in, err := proto.Marshal(otlppb.KeyValue(schemaVersionKey, otlppb.String(pprofLabels)))
		if err != nil {
			return nil, fmt.Errorf("processcontext: attributes: %w", err)
		}
		payload = protowire.AppendTag(payload, attributesField, protowire.BytesType)
		payload = protowire.AppendBytes(payload, in)
	}
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("processcontext: resource of %d bytes: must have at most %d", len(payload), maxPayload)
	}
	return payload, nil
}

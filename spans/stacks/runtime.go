package stacks

import (
	"context"
	"reflect"
	"runtime/pprof"
	"unsafe"
)

// The three functions below are not part of the standard library's documented interface, but its
// authors have promised to keep them as they are: go.dev/issue/67401. What they give that
// package pprof does not: to put back exactly the labels that a goroutine had, and to sample at
// rates other than 100 Hz, with the labels at hand and no profile to encode and decode.

// profLabels returns the labels of the calling goroutine, a *pprof.labelMap.
//
//go:linkname profLabels runtime/pprof.runtime_getProfLabel
func profLabels() unsafe.Pointer

// setProfLabels sets them.
//
//go:linkname setProfLabels runtime/pprof.runtime_setProfLabel
func setProfLabels(labels unsafe.Pointer)

// readProfile waits for samples and returns them, with a pointer to the labels of each, or eof
// after the profile has been switched off and all has been read.
//
//go:linkname readProfile runtime/pprof.readProfile
func readProfile() (data []uint64, tags []unsafe.Pointer, eof bool)

// labelKey is the key of pprof labels in a context, and labelType what stands there. Package
// pprof keeps them to itself but asks any context for them.
var labelKey, labelType = learnLabelKey()

func learnLabelKey() (key any, of reflect.Type) {
	labeled := pprof.WithLabels(context.Background(), pprof.Labels("key", "value"))
	asked := &askedContext{Context: context.Background()}
	pprof.ForLabels(asked, func(string, string) bool { return true })
	if asked.key == nil {
		return nil, nil
	}
	of = reflect.TypeOf(labeled.Value(asked.key))
	if of == nil || of.Kind() != reflect.Pointer {
		return nil, nil
	}
	return asked.key, of
}

type askedContext struct {
	context.Context
	key any
}

func (c *askedContext) Value(key any) any {
	c.key = key
	return nil
}

// labeledContext is a context with pprof labels.
type labeledContext struct {
	context.Context
	labels any // of labelType
}

func (c *labeledContext) Value(key any) any {
	if key == labelKey {
		return c.labels
	}
	return c.Context.Value(key)
}

// withLabels returns ctx with the labels of a goroutine or of a sample.
func withLabels(ctx context.Context, labels unsafe.Pointer) context.Context {
	if labels == nil || labelType == nil {
		return ctx
	}
	return &labeledContext{ctx, reflect.NewAt(labelType.Elem(), labels).Interface()}
}

// labelsOf returns the labels of a context as a goroutine has them.
func labelsOf(ctx context.Context) unsafe.Pointer {
	v := ctx.Value(labelKey)
	if v == nil || reflect.TypeOf(v) != labelType {
		return nil
	}
	return reflect.ValueOf(v).UnsafePointer()
}

package mark

import (
	"context"
	"reflect"
	"runtime/trace"
	"sync"
	"unsafe"
)

// A carrier is a context for one event, whose task is any number. Each message makes the trace
// longer by its text and an entry of a table; a number takes ten bytes at most.
type carrier struct {
	context.Context //nolint:containedctx // It is one itself.

	task trace.Task
}

// carriers are not in use. The runtime has copied the number when Log returns.
var carriers = sync.Pool{New: func() any { return &carrier{Context: context.Background()} }}

// Value returns the task, whatever is asked for: package trace alone asks.
func (c *carrier) Value(any) any { return &c.task }

// carry sets the number, where [carries].
func (c *carrier) carry(number uint64) { *(*uint64)(unsafe.Pointer(&c.task)) = number }

// carries reports that a task of this version of Go is its number and nothing else.
var carries = func() bool {
	t := reflect.TypeFor[trace.Task]()
	return t.NumField() == 1 && t.Field(0).Type.Kind() == reflect.Uint64
}()

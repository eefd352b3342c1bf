//go:build !race && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package otelhdr

import (
	"sync/atomic"
	"unsafe"
)

// These are plain loads and stores, which Go has no atomic counterpart of: its atomic stores are
// sequentially consistent, and on amd64 as dear as an addition. The Go memory model, under
// "Implementation Restrictions for Programs Containing Data Races", promises that a load of a
// machine word gives a value that some store has put there, so a reader sees every counter as it
// was at some moment. It promises no order: on processors that reorder stores, a reader may see the
// counter of a value before its share in the sum.

// addOwn adds n to p, which no other goroutine writes.
func addOwn(p *atomic.Uint64, n uint64) { *(*uint64)(unsafe.Pointer(p)) += n }

// setOwn sets p, which no other goroutine writes.
func setOwn(p *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(p)) = v }

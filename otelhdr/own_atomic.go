//go:build race || !(amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package otelhdr

import "sync/atomic"

// Under the race detector, and where a counter is two machine words, the single writer is as
// careful as many.

func addOwn(p *atomic.Uint64, n uint64) { p.Add(n) }

func setOwn(p *atomic.Uint64, v uint64) { p.Store(v) }

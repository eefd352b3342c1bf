//go:build !linux

package processcontext

import (
	"fmt"
	"runtime"
)

type mapping struct{}

func newMapping([]byte) (*mapping, error) {
	return nil, fmt.Errorf("%w: on %s: must be Linux", ErrNotSupported, runtime.GOOS)
}

func (*mapping) close() error { return nil }

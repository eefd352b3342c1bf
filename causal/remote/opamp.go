package remote

import "fmt"

var opAMP func(url string, opts ...EndpointOption) (Source, error)

// RegisterOpAMP is called by package opamp, as it is initialised.
func RegisterOpAMP(newClient func(url string, opts ...EndpointOption) (Source, error)) {
	opAMP = newClient
}

// NewOpAMP returns a client of package opamp, which the program must import, since protobuf and
// WebSocket come along. An error wraps [ErrConfig].
func NewOpAMP(url string, opts ...EndpointOption) (Source, error) {
	if opAMP == nil {
		return nil, fmt.Errorf(`%w: OpAMP: the program must import _ "github.com/otelprof/otelprof/causal/remote/opamp"`, ErrConfig)
	}
	return opAMP(url, opts...)
}

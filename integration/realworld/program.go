package main

import (
	"context"
	"net/http"
)

// A program is one of others. Its main is ours, in a module of its own in programs/NAME, which
// imports the program's packages. Or it is a copy of the program's source that is changed.
type program struct {
	name, about string

	// Of a copy, module and version are what the go command downloads, pkg is the main package
	// within the module.
	module, version, pkg string

	// edits wrap the program's TracerProvider by package control, and have each delay come from
	// control.Scale.
	edits []edit

	// ports is how many ports of the loopback it is to listen at, and at no other. They are its
	// arguments, unless args makes those of them.
	ports int
	args  func(ports []string) []string

	// services are the first arguments of its processes, nil for one process without any.
	services []string

	// variants are other ways to start it.
	variants []variant

	// speedups are what regions are made faster by, nil for the usual.
	speedups []float64

	// url is what its clients get, or where they post a body; n is for what differs between
	// requests. Seed, if there is one, brings the program to where it answers those.
	url  func(ports []string, n int) string
	body func(n int) string
	seed func(ctx context.Context, client *http.Client, ports []string) error

	// progress is the span that is a unit of work.
	progress string
	regions  []region
}

// A region is a span, and the delay within it that can be made shorter. Plans for several services
// name its scope, too.
type region struct{ span, delay, scope string }

// copied reports whether the program is built from a copy of its source.
func (p program) copied() bool { return p.module != "" }

// control is the import path of package control in the program's module.
func (p program) control() string { return p.module + "/internal/otelprof/control" }

// processes is how many it has.
func (p program) processes() int { return max(1, len(p.services)) }

// programs are all that there are.
func programs() []program {
	return []program{hotrod(), hotrod4(), registry(), openfga(), etcd(), benthos()}
}

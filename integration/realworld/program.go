package main

import (
	"context"
	"net/http"
)

// A program is one of others, and what has to be changed in it to profile it and to try the predictions.
type program struct {
	name, about string

	// module and version are what the go command downloads, pkg is the main package within the module.
	module, version, pkg string

	// edits wrap the program's TracerProvider by package control, and have each delay come from control.Scale.
	edits []edit

	// newer are modules, with versions, that must be newer than the program asks for, to fit those that otelprof needs.
	newer []string

	// args returns the program's arguments, and writes what files it needs to dir: it is to listen at these ports of the
	// loopback only. Env is its environment beside ours.
	ports int
	args  func(dir string, ports []string) ([]string, error)
	env   []string

	// url is what its clients get; n is for what differs between requests. Seed, if there is one, brings the program
	// to where it answers those.
	url  func(ports []string, n int) string
	seed func(ctx context.Context, client *http.Client, ports []string) error

	// progress is the span that is a unit of work.
	progress string
	regions  []region
}

// A region is a span, and the delay within it that can be made shorter.
type region struct{ span, delay string }

// control is the import path of package control in the program's module.
func (p program) control() string { return p.module + "/internal/otelprof/control" }

// programs are all that there are.
func programs() []program { return []program{hotrod(), registry()} }

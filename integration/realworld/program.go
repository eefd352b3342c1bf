package main

// A program is one of others, and what has to be changed in it to profile it and to try the predictions.
type program struct {
	name, about string

	// module and version are what the go command downloads, pkg is the main package within the module.
	module, version, pkg string

	// edits wrap the program's TracerProvider by package control, and have each delay come from control.Scale.
	edits []edit

	// args are the program's arguments: it is to listen at loopback addresses only, at as many ports as it needs; url
	// is what its clients get, their number n is for what differs between them.
	ports int
	args  func(ports []string) []string
	url   func(ports []string, n int) string

	// progress is the span that is a unit of work.
	progress string
	regions  []region
}

// A region is a span, and the delay within it that can be made shorter.
type region struct{ span, delay string }

// control is the import path of package control in the program's module.
func (p program) control() string { return p.module + "/internal/otelprof/control" }

// programs are all that there are.
func programs() []program { return []program{hotrod()} }

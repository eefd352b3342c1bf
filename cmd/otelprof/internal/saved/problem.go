package saved

import (
	"errors"
	"fmt"
)

var (
	// ErrConfig is wrapped by errors about options.
	ErrConfig = errors.New("saved: configuration")
	// errFormat is wrapped by errors about files that hold nothing that can be shown.
	errFormat = errors.New("must be OTLP-JSON, .hlog, a pprof profile or a causal profile")

	errTorn = errors.New("torn line")
)

// A Problem is a place in a file that could not be read. What stands around it was.
type Problem struct {
	File string
	// Line is the number of the line in which the damaged part begins, from 1; 0 if the
	// file has no lines.
	Line int
	// Offset is the number of bytes before the damage; in a gzipped file, of what is
	// packed in it. It is 0 in a .hlog file, of which only the lines are known.
	Offset int64
	Err    error
}

// Error implements error.
func (p *Problem) Error() string {
	switch {
	case p.Line == 0:
		return fmt.Sprintf("%s: %v", p.File, p.Err)
	case p.Line > 1 && p.Offset == 0:
		return fmt.Sprintf("%s: line %d: %v", p.File, p.Line, p.Err)
	}
	return fmt.Sprintf("%s: line %d, byte %d: %v", p.File, p.Line, p.Offset, p.Err)
}

// Unwrap returns what is wrong there.
func (p *Problem) Unwrap() error { return p.Err }

func (d document) problem(err error) *Problem {
	return &Problem{Line: d.line, Offset: d.offset, Err: err}
}

// Torn reports whether an error is about an object that has lost its end, as the last line of a
// file has while it is written.
func Torn(err error) bool { return errors.Is(err, errTorn) }

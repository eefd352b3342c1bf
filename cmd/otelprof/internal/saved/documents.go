package saved

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxDocument bounds one JSON object, in bytes.
const maxDocument = 256 << 20

// A document is one JSON object of a file.
type document struct {
	text   []byte // valid until the next one is read
	line   int    // from 1, where it begins
	offset int64  // from 0, where it begins
}

// documents splits a file into its JSON objects: one in each line, or one over many lines. A
// line that begins as OTLP-JSON does begins an object, whatever came before it: so a torn
// line costs no other.
type documents struct {
	in      *bufio.Reader
	most    int
	line    int   // lines read
	offset  int64 // bytes read
	pending []byte
	at      document // of pending
	text    []byte
}

func newDocuments(r io.Reader) *documents {
	return &documents{in: bufio.NewReaderSize(r, 1<<18), most: maxDocument}
}

// beginsOTLP reports whether a line begins as those of both exporters do. In an object over many
// lines one may begin with {"resource":, too.
func beginsOTLP(line []byte) bool {
	for _, kind := range []string{"Spans", "Metrics", "Logs"} {
		if bytes.HasPrefix(line, []byte(`{"resource`+kind+`"`)) {
			return true
		}
	}
	return false
}

// next returns the next object, io.EOF after the last, or an error that is a *Problem about
// a place that holds none; the next call goes on behind that.
func (d *documents) next() (document, error) {
	d.text = d.text[:0]
	var scan scanner
	var doc document
	for {
		if len(d.pending) == 0 {
			err := d.readLine()
			if err != nil && len(d.text) > 0 {
				if errors.Is(err, io.EOF) {
					return document{}, doc.problem(fmt.Errorf("%w: the file ends in the middle of it", errTorn))
				}
				return document{}, err
			}
			if err != nil {
				return document{}, err
			}
		}
		if len(d.text) == 0 {
			trimmed := bytes.TrimLeft(d.pending, " \t\r\n\ufeff")
			d.at.offset += int64(len(d.pending) - len(trimmed))
			d.pending = trimmed
			switch {
			case len(trimmed) == 0:
				continue
			case trimmed[0] != '{':
				at := d.at
				d.pending = nil
				return document{}, at.problem(fmt.Errorf("%q: must be a JSON object", head(trimmed)))
			}
			doc = d.at
		} else if beginsOTLP(d.pending) {
			return document{}, doc.problem(fmt.Errorf("%w: another one begins in line %d", errTorn, d.at.line))
		}
		n, whole := scan.object(d.pending)
		d.text = append(d.text, d.pending[:n]...)
		d.pending = d.pending[n:]
		d.at.offset += int64(n)
		switch {
		case whole:
			doc.text = d.text
			return doc, nil
		case scan.inString:
			return document{}, doc.problem(fmt.Errorf("%w: the line ends in the middle of it", errTorn))
		case len(d.text) > d.most:
			return document{}, doc.problem(fmt.Errorf("object: must have at most %d bytes", d.most))
		}
	}
}

// readLine reads one line into pending, or the part of it that is allowed.
func (d *documents) readLine() error {
	d.at = document{line: d.line + 1, offset: d.offset}
	d.pending = nil
	var long []byte
	for {
		part, err := d.in.ReadSlice('\n')
		d.offset += int64(len(part))
		if err == nil || errors.Is(err, io.EOF) {
			if long != nil {
				part = append(long, part...)
			}
			if len(part) == 0 {
				return io.EOF
			}
			d.line++
			if len(part) > d.most {
				return d.at.problem(fmt.Errorf("line of %d bytes: must have at most %d", len(part), d.most))
			}
			d.pending = part
			return nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if len(long)+len(part) <= d.most+1 { // what is beyond is counted, not kept
			long = append(long, part...)
		}
	}
}

// head is the beginning of a text, for errors.
func head(text []byte) []byte {
	text = bytes.TrimRight(text, "\r\n")
	return text[:min(len(text), 40)]
}

// A scanner finds the end of a JSON object without reading what is in it.
type scanner struct {
	depth     int
	inString  bool
	isEscaped bool
}

// object goes through text and returns how much of it belongs to the object, and whether the
// object is whole with that.
func (s *scanner) object(text []byte) (n int, whole bool) {
	for i, c := range text {
		switch {
		case s.isEscaped:
			s.isEscaped = false
		case s.inString:
			switch c {
			case '\\':
				s.isEscaped = true
			case '"':
				s.inString = false
			}
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

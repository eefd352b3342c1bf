package saved

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/spans/stacks"
)

// A Reader takes files. It is for one goroutine.
type Reader struct {
	config     config
	words      words
	regions    regions
	sessions   sessions
	metrics    metrics
	services   map[string]bool
	logs       intervals
	profiles   []profile.Profile
	recordings []*stacks.Recording
	files      []FileReport
}

// A FileReport shows what came out of one file.
type FileReport struct {
	File string
	// Spans and Points is how many were taken, Intervals those of a .hlog file.
	Spans, Points, Intervals int
	// Others are causal profiles, pprof profiles, and objects with log records.
	Others int
	// SeriesDropped is the number of points left out since there were too many regions.
	SeriesDropped int
	// Problems are the first places that could not be read, Damaged is the number of all.
	Problems []*Problem
	Damaged  int
}

// maxProblems is how many problems of a file are listed one by one.
const maxProblems = 10

func (f *FileReport) add(err error) {
	problem, ok := errors.AsType[*Problem](err)
	if !ok {
		problem = &Problem{Err: err}
	}
	problem.File = f.File
	if f.Damaged++; len(f.Problems) < maxProblems {
		f.Problems = append(f.Problems, problem)
	}
}

// empty reports whether nothing came out of the file.
func (f *FileReport) empty() bool {
	return f.Spans+f.Points+f.Intervals+f.Others == 0
}

// NewReader returns a reader that has read nothing. Errors wrap [ErrConfig].
func NewReader(opts ...Option) (*Reader, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	r := &Reader{
		config: c, words: words{}, services: map[string]bool{},
		regions: regions{byKey: map[regionKey]*region{}},
		metrics: metrics{series: map[seriesKey]*series{}, coarsest: 20},
	}
	r.sessions = sessions{maxSessions: c.sessions, maxBytes: c.bytes, regions: &r.regions, byID: map[trace.TraceID]*readTrace{}}
	return r, nil
}

// EachFile opens the files that a list of files and folders stands for, one after the other, and
// calls f with each: of a folder, with all files and links to files in it but hidden ones and
// locks, and not with those in folders below. Each file comes once, however many links lead to it.
// The error joins those of all.
func EachFile(names []string, f func(name string, in io.Reader) error) error {
	files, err := listFiles(names)
	failed := []error{err}
	for _, name := range files {
		failed = append(failed, openFile(name, f))
	}
	return errors.Join(failed...)
}

func openFile(name string, f func(name string, in io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, client.WithoutPath(err))
	}
	defer file.Close() //nolint:errcheck // Nothing was written.
	return f(name, file)
}

func listFiles(names []string) ([]string, error) {
	var all []string
	var errs []error
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, client.WithoutPath(err)))
			continue
		}
		if !info.IsDir() {
			all = append(all, name)
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, client.WithoutPath(err)))
		}
		for _, e := range entries {
			if e.Name()[0] == '.' || strings.HasSuffix(e.Name(), ".lock") {
				continue
			}
			path := filepath.Join(name, e.Name())
			mode := e.Type()
			if mode&fs.ModeSymlink != 0 {
				info, err := os.Stat(path)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", path, client.WithoutPath(err)))
					continue
				}
				mode = info.Mode()
			}
			if mode.IsRegular() {
				all = append(all, path)
			}
		}
	}
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(name string) bool {
		path, err := filepath.EvalSymlinks(name)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		again := err == nil && seen[path]
		seen[path] = true
		return again
	})
	return all, errors.Join(errs...)
}

// Read takes what is in a file; the name is what errors call it. If nothing in it can be read
// the error is the first *[Problem]; it is the context's if that ends before all is read. What is
// damaged in a file that holds something is in [Data.Files].
func (r *Reader) Read(ctx context.Context, name string, from io.Reader) error {
	report := FileReport{File: name}
	err := r.read(&report, contextReader{ctx, from})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		report.add(err)
	}
	if report.empty() && report.Damaged > 0 {
		return report.Problems[0]
	}
	r.files = append(r.files, report)
	return nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// The beginnings that distinguish files.
var (
	gzipStart = []byte{0x1f, 0x8b}
	zstdStart = []byte{0x28, 0xb5, 0x2f, 0xfd}
	bom       = []byte("\xef\xbb\xbf")
)

func (r *Reader) read(at *FileReport, from io.Reader) error {
	in := bufio.NewReaderSize(from, 1<<16)
	start, err := in.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return client.WithoutPath(err)
	}
	if bytes.HasPrefix(start, gzipStart) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		in = bufio.NewReaderSize(unpacked, 1<<16)
		if start, err = in.Peek(512); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("gzip: %w", err)
		}
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(start, bom))
	switch {
	case len(text) == 0:
		return nil // a file that nothing has been written to yet
	case bytes.HasPrefix(start, zstdStart):
		return fmt.Errorf("zstd: must be unpacked first, with zstd -d: %w", errFormat)
	case text[0] == '{':
		return r.readJSON(at, in)
	case bytes.HasPrefix(text, []byte("#[")), bytes.HasPrefix(text, []byte(`"StartTimestamp"`)),
		strings.HasSuffix(strings.TrimSuffix(at.File, ".gz"), ".hlog"):
		return r.readIntervals(at, in)
	case bytes.HasPrefix(text, []byte("startup\t")), bytes.HasPrefix(text, []byte("experiment\t")):
		return r.readCoz(at, in)
	case bytes.ContainsRune(start, 0), start[0] < ' ': // protocol buffers begin with a tag
		return r.readStacks(at, in)
	default:
		return fmt.Errorf("%q: %w", head(start), errFormat)
	}
}

// readJSON takes every object by its first key that shows what it is.
func (r *Reader) readJSON(at *FileReport, in io.Reader) error {
	docs := newDocuments(in)
	for {
		doc, err := docs.next()
		problem, damaged := errors.AsType[*Problem](err)
		switch {
		case errors.Is(err, io.EOF) && !damaged:
			return nil
		case damaged:
			at.add(problem)
			continue
		case err != nil:
			return &Problem{Line: docs.line + 1, Offset: docs.offset, Err: client.WithoutPath(err)}
		}
		switch kindOf(doc.text) {
		case "resourceSpans":
			r.traces(doc, at)
		case "resourceMetrics":
			r.takeMetrics(doc, at)
		case "resourceLogs":
			at.Others++
		case "api":
			p, err := profile.Read(bytes.NewReader(doc.text))
			if err != nil {
				at.add(doc.problem(err))
				continue
			}
			at.Others++
			r.profiles = append(r.profiles, p)
		default:
			at.add(doc.problem(fmt.Errorf("%q…: %w", head(doc.text), errFormat)))
		}
	}
}

// kindOf returns the first key of an object that shows what it is, "" if there is none.
func kindOf(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		switch key {
		case "resourceSpans", "resourceMetrics", "resourceLogs", "api":
			return key.(string)
		case "resource_spans":
			return "resourceSpans"
		case "resource_metrics":
			return "resourceMetrics"
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return ""
		}
	}
	return ""
}

// damaged finds where in the object the JSON ends to be any, if it does.
func (d document) damaged(err error) *Problem {
	var all json.RawMessage
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(d.text, &all)); ok {
		before := d.text[:min(int(syntax.Offset), len(d.text))]
		return &Problem{Line: d.line + bytes.Count(before, []byte("\n")), Offset: d.offset + max(0, syntax.Offset-1), Err: fmt.Errorf("must be JSON: %w", syntax)}
	}
	text, _, _ := strings.Cut(err.Error(), ", error found in #")
	return d.problem(fmt.Errorf("must be OTLP-JSON: %s", text))
}

// wants reports whether a service is one of those asked for.
func (r *Reader) wants(service string) bool {
	return r.config.service == "" || r.config.service == service
}

func serviceOf(res pcommon.Resource) string { return textOf(res.Attributes(), semconv.ServiceNameKey) }

// textOf is the value of an attribute, "" if there is none.
func textOf(attributes pcommon.Map, key attribute.Key) string {
	v, ok := attributes.Get(string(key))
	if !ok {
		return ""
	}
	return v.AsString()
}

// processOf distinguishes processes by all attributes of their resource.
func processOf(res pcommon.Resource) string {
	var parts []string
	for k, v := range res.Attributes().All() {
		parts = append(parts, k+"\x00"+v.AsString())
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x01")
}

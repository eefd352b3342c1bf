package backends

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pprofile"
)

// A sample is one of a profile that the Collector wrote.
type sample struct {
	place
	attributes map[string]string
	frames     int
	value      int64
}

// A place is the span that something happened in. Its name is that of the region.
type place struct{ trace, span, name string }

// samplesIn returns the samples of a file of the Collector's, by the type and unit of their
// profile.
func samplesIn(file string) (map[string][]sample, error) {
	all := map[string][]sample{}
	return all, lines(file, func(line []byte) error {
		profiles, err := new(pprofile.JSONUnmarshaler).UnmarshalProfiles(line)
		if err != nil {
			return err
		}
		d := profiles.Dictionary()
		for _, r := range profiles.ResourceProfiles().All() {
			for _, s := range r.ScopeProfiles().All() {
				for _, p := range s.Profiles().All() {
					kind := d.StringTable().At(int(p.SampleType().TypeStrindex())) + " in " + d.StringTable().At(int(p.SampleType().UnitStrindex()))
					for _, one := range p.Samples().All() {
						all[kind] = append(all[kind], newSample(d, one))
					}
				}
			}
		}
		return nil
	})
}

func newSample(d pprofile.ProfilesDictionary, s pprofile.Sample) sample {
	out := sample{attributes: map[string]string{}, frames: d.StackTable().At(int(s.StackIndex())).LocationIndices().Len()}
	for _, i := range s.AttributeIndices().All() {
		a := d.AttributeTable().At(int(i))
		out.attributes[d.StringTable().At(int(a.KeyStrindex()))] = a.Value().AsString()
	}
	for _, v := range s.Values().All() {
		out.value += v
	}
	out.name = out.attributes["otelprof.region.name"]
	if s.LinkIndex() != 0 {
		link := d.LinkTable().At(int(s.LinkIndex()))
		out.trace, out.span = link.TraceID().String(), link.SpanID().String()
	}
	return out
}

// mostTraces bounds the traces that Jaeger is asked for, one after the other.
const mostTraces = 200

// holds fails the test unless Jaeger has the spans of places under their names, and returns how
// many places it was asked for and how many traces. Places without a trace are left out, and those
// of more than mostTraces.
func (j *jaeger) holds(t testing.TB, places []place) (asked, traces int) {
	t.Helper()
	wanted := map[string][]place{}
	for _, p := range places {
		if p.trace != "" && (wanted[p.trace] != nil || len(wanted) < mostTraces) {
			wanted[p.trace] = append(wanted[p.trace], p)
			asked++
		}
	}
	for trace, places := range wanted {
		eventually(t, 30*time.Second, func() error { // some spans may be on their way
			names, err := j.names(t, trace)
			for _, p := range places {
				if name, ok := names[p.span]; err == nil && (!ok || name != p.name) {
					err = fmt.Errorf("span %s of trace %s: in Jaeger it is called %q, want %q", p.span, trace, name, p.name)
				}
			}
			return err
		})
	}
	return asked, len(wanted)
}

// names returns the names of a trace's spans, by ID.
func (j *jaeger) names(t testing.TB, trace string) (map[string]string, error) {
	all, err := j.trace(t.Context(), trace)
	names := map[string]string{}
	for _, s := range all {
		names[s.SpanID().String()] = s.Name()
	}
	return names, err
}

// profilesBackend takes what it is sent, and counts the requests.
func profilesBackend(t testing.TB) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// TestProfiles runs the demo with profiles on. What comes out of the Collector leads to the spans
// in Jaeger.
func TestProfiles(t *testing.T) {
	dir := artefacts(t)
	file, also := filepath.Join(dir, "profiles.jsonl"), filepath.Join(dir, "file.yaml")
	text := fmt.Sprintf(`
exporters: {file/profiles: {path: %s}}
service: {pipelines: {profiles: {exporters: [otlphttp/profiles, file/profiles]}}}
`, file)
	if err := os.WriteFile(also, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	url, requests := profilesBackend(t)
	s := newStack(t, []string{"PROFILES_ENDPOINT=" + url}, profilesConfig, also)
	shop := start(t, "shop", ours(t, "shop"), s.exporting("OTEL_BSP_MAX_QUEUE_SIZE=50000", "OTEL_PROFILES_EXPORTER=otlp"),
		"-clients", "2", "-listen", "127.0.0.1:0", "-data", t.TempDir(), "-plan", "off")
	const cpu, offCPU = "cpu in nanoseconds", "off_cpu in nanoseconds"
	var samples map[string][]sample
	eventually(t, 3*time.Minute, func() (err error) { // they come each 30 s
		if samples, err = samplesIn(file); err == nil && (samples[cpu] == nil || samples[offCPU] == nil || requests.Load() == 0) {
			err = fmt.Errorf("%d requests, profiles %v: want %s and %s", requests.Load(), slices.Sorted(maps.Keys(samples)), cpu, offCPU)
		}
		return err
	})
	if err := shop.stop(); err != nil { // which exports the last spans
		t.Fatalf("shop: %v\n%s", err, shop.tail())
	}
	t.Run("link", func(t *testing.T) {
		asked, traces := s.jaeger.holds(t, placesOf(samples[cpu]))
		if asked == 0 {
			t.Error("no sample has a link")
		}
		check(t, "profiles_link", "figure=%d of %d samples of processor time, of %d traces, lead to their span in Jaeger by the region's name; %d samples in all",
			asked, asked, traces, len(samples[cpu]))
	})
	t.Run("off_cpu", func(t *testing.T) {
		asked, traces := s.jaeger.holds(t, placesOf(samples[offCPU]))
		if asked == 0 {
			t.Error("no wait has a link")
		}
		reasons, regions := map[string]bool{}, map[string]bool{}
		for _, one := range samples[offCPU] {
			// Beyond a number of waits, those of one region and reason are one, without stack and
			// link.
			if one.value <= 0 || one.name == "" || one.attributes["otelprof.wait"] == "" || one.trace != "" && one.frames == 0 {
				t.Fatalf("%+v: must have a time, a region, a reason and, with a link, a stack", one)
			}
			reasons[one.attributes["otelprof.wait"]], regions[one.name] = true, true
		}
		check(t, "profiles_offcpu", "figure=%d of %d waits, of %d traces, lead to their span in Jaeger by the region's name; %d waits in %d regions, for %s",
			asked, asked, traces, len(samples[offCPU]), len(regions), strings.Join(slices.Sorted(maps.Keys(reasons)), ", "))
	})
}

func placesOf(samples []sample) (all []place) {
	for _, s := range samples {
		all = append(all, s.place)
	}
	return all
}

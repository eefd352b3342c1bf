package saved_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
)

// cozText is a profile.coz of experiments at two speed-ups, each with more fields, and points.
func cozText(fields, points string) string {
	text := "startup\ttime=1\n"
	for i := range 8 {
		for _, e := range []struct {
			speedup  float64
			duration int
		}{{0, 1000 + i}, {0.5, 800 - i}} {
			text += fmt.Sprintf("experiment\tselected=a.go:7\tspeedup=%g\tduration=%d%s\n%s", e.speedup, e.duration*1000, fields, points)
		}
	}
	return text
}

// Of a profile.coz that is cut off, packed or not, the whole lines count.
func TestCozCutOff(t *testing.T) {
	text := cozText("", "throughput-point\tname=done\tdelta=1000\n")
	d := read(t, "profile.coz", strings.TrimSuffix(text, "00\n"))
	if e := d.Profile.Curves[0].Effects[0]; e.Samples != 7 || e.Reduction < 0.19 || e.Reduction > 0.22 {
		t.Errorf("effect = %+v, want about 20 %% of the 7 samples that are whole", e)
	}
	if p := d.Files[0].Problems; len(p) != 1 || p[0].Line != 33 || !saved.Torn(p[0]) {
		t.Errorf("problems = %v, want that the last line is torn", p)
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(zip, text)
	if err := errors.Join(err, zip.Close()); err != nil {
		t.Fatal(err)
	}
	d = read(t, "profile.coz.gz", packed.String()[:packed.Len()-40])
	if p := d.Files[0].Problems; d.Profile == nil || len(p) == 0 || !errors.Is(p[len(p)-1], io.ErrUnexpectedEOF) {
		t.Errorf("packed: profile %v, problems %v; want what is whole, and that it ends too early", d.Profile, p)
	}
}

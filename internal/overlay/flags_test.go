package overlay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJoin(t *testing.T) {
	for _, tc := range []struct{ verb, goflags, args, want string }{
		{"build", "", "", "build -overlay X -tags otelprof_runtime"},
		{"build", "", "-o a ./cmd/a", "build -overlay X -tags otelprof_runtime -o a ./cmd/a"},
		{"build", "", "-tags a,b .", "build -overlay X -tags a,b,otelprof_runtime ."},
		{"build", "", "--tags=a -race .", "build -overlay X -tags a,otelprof_runtime -race ."},
		{"build", "", "-tags otelprof_runtime .", "build -overlay X -tags otelprof_runtime ."},
		{"build", "-tags=env -mod=mod", ".", "build -overlay X -tags env,otelprof_runtime ."},
		{"build", "-tags=env", "-tags mine .", "build -overlay X -tags mine,otelprof_runtime ."},
		{"build", "", "-C dir -v .", "build -C dir -overlay X -tags otelprof_runtime -v ."},
		{"build", "", "-overlay mine.json .", "build -overlay X -tags otelprof_runtime ."},
		{"run", "", "-race . -tags program", "run -overlay X -tags otelprof_runtime -race . -tags program"},
		{"run", "", "-exec -tags . -C x", "run -overlay X -tags otelprof_runtime -exec -tags . -C x"},
		{"test", "", "./... -run X -tags a -count 1", "test -overlay X -tags a,otelprof_runtime ./... -run X -count 1"},
		{"test", "", "-run -tags .", "test -overlay X -tags otelprof_runtime -run -tags ."},
		{"test", "", ". -args -tags a", "test -overlay X -tags otelprof_runtime . -args -tags a"},
		{"test", "", "-update -tags=a .", "test -overlay X -tags a,otelprof_runtime -update ."},
		{"build", "", "-tags", "build -overlay X -tags otelprof_runtime -tags"},
		{"build", "", "-- -tags a", "build -overlay X -tags otelprof_runtime -- -tags a"},
	} {
		f, err := parse(tc.verb, strings.Fields(tc.args), tc.goflags)
		if err != nil {
			t.Errorf("%s %s: %v", tc.verb, tc.args, err)
			continue
		}
		if got := strings.Join(f.join(tc.verb, "X"), " "); got != tc.want {
			t.Errorf("GOFLAGS=%q %s %s\n got %s\nwant %s", tc.goflags, tc.verb, tc.args, got, tc.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                             nil,
		" -a  -b=c ":                   {"-a", "-b=c"},
		`'-ldflags=-X a' "-tags=b"`:    {"-ldflags=-X a", "-tags=b"},
		"-a\t-b\n'-c=\"quoted text\"'": {"-a", "-b", `-c="quoted text"`},
	} {
		got, err := split(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("split(%q): %v, -want +got:\n%s", text, err, diff)
		}
	}
	if _, err := parse("build", nil, "'-tags=a"); err == nil || !strings.Contains(err.Error(), "GOFLAGS") {
		t.Errorf("a quote that is not closed: %v, want an error about GOFLAGS", err)
	}
}

// Whatever the arguments are: what is not ours goes on in its order, and ours comes once.
func FuzzJoin(f *testing.F) {
	f.Add("test", "-run\n-tags\n./...\n-tags=a\n-args\n-tags\nb", "-tags=c")
	f.Add("run", "-C\ndir\n.\n-overlay\nx", "'-overlay=a b'")
	f.Fuzz(func(t *testing.T, verb, args, goflags string) {
		given := strings.Split(args, "\n")
		parsed, err := parse(verb, given, goflags)
		if err != nil {
			return
		}
		rest := parsed.rest
		for _, arg := range given {
			if len(rest) > 0 && rest[0] == arg {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			t.Errorf("%q: %q is not from there, or not in its order", given, parsed.rest)
		}
		head := parsed.join(verb, "X")
		if i := slices.Index(head, "-overlay"); i < 0 || head[i+1] != "X" || head[i+2] != "-tags" || !strings.Contains(head[i+3], Tag) {
			t.Errorf("join = %q", head)
		}
	})
}

func TestReadOverlay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "o.json"), []byte(`{"Replace": {"a.go": "b/c.go", "/x.go": ""}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := readOverlay(dir, "o.json")
	want := map[string]string{filepath.Join(dir, "a.go"): filepath.Join(dir, "b/c.go"), "/x.go": ""}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("readOverlay: %v, -want +got:\n%s", err, diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte(`{`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"missing.json", "bad.json"} {
		if _, err := readOverlay(dir, name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("readOverlay(%s) = %v, want an error that names it", name, err)
		}
	}
	if got, err := readOverlay(dir, ""); got != nil || err != nil {
		t.Errorf("readOverlay of nothing = %v, %v", got, err)
	}
}

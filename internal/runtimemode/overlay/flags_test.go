package overlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
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
		{"test", "", "-update -tags=a .", "test -overlay X -tags a,otelprof_runtime -update -args ."},
		{"build", "", "-tags", "build -overlay X -tags otelprof_runtime -tags"},
		{"build", "", "-- -tags a", "build -overlay X -tags otelprof_runtime -- -tags a"},
		{"test", "", "-v a b -test.run -tags -tags c d -tags e", "test -overlay X -tags c,otelprof_runtime -v a b -test.run -tags -args d -tags e"},
		{"test", "", ". -update file -tags a", "test -overlay X -tags a,otelprof_runtime . -update file"},
		{"test", "", "-update . -tags a", "test -overlay X -tags a,otelprof_runtime -update ."},
		{"test", "", "-update=file . -tags a", "test -overlay X -tags otelprof_runtime -update=file -args . -tags a"},
		{"test", "", ". -short file -tags a", "test -overlay X -tags otelprof_runtime . -short -args file -tags a"},
		{"test", "", "-vet -tags . -tags a", "test -overlay X -tags a,otelprof_runtime -vet -tags ."},
		{"test", "", ". -- -tags a", "test -overlay X -tags otelprof_runtime . -- -tags a"},
		{"build", "", "-=tags -tags a", "build -overlay X -tags otelprof_runtime -=tags -tags a"},
		{"build", "-compiler=gc", "-compiler gc .", "build -overlay X -tags otelprof_runtime -compiler gc ."},
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

func TestRefused(t *testing.T) {
	for _, flags := range []string{"-compiler=gccgo", "-compiler gccgo"} {
		if _, err := parse("build", strings.Fields(flags), ""); err == nil || !strings.Contains(err.Error(), "-compiler gccgo: must be gc") {
			t.Errorf("parse(%s) = %v, want it refused", flags, err)
		}
	}
}

// The lists hold the flags that this machine's go command lists, and know which of them have a
// value.
func TestListsComplete(t *testing.T) {
	line := regexp.MustCompile(`(?m)^\s+-([a-z]+)( \S.*)?$`)
	for _, topic := range []string{"build", "test", "testflag"} {
		out, err := exec.Command("go", "help", topic).Output()
		if err != nil {
			testutil.Lacks(t, "GO", "needs the go command: "+err.Error())
		}
		for _, m := range line.FindAllStringSubmatch(string(out), -1) {
			list := withoutValue
			if m[2] != "" {
				list = withValue
			}
			if name := m[1]; name != "args" && !slices.Contains(list, name) {
				t.Errorf("go help %s: -%s%s is missing in the list of those like it", topic, name, m[2])
			}
		}
	}
}

// For any arguments: flags of others stay in their order, ours comes once, and the go command reads
// what was read here.
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
			if len(rest) > 0 && rest[0] == "-args" && arg != "-args" {
				rest = rest[1:] // it is put before what follows other flags
			}
			if len(rest) > 0 && rest[0] == arg {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			t.Errorf("%q: %q is not from there, or not in its order", given, parsed.rest)
		}
		joined := parsed.join(verb, "X")
		parsed.overlay = "X"
		if !slices.Contains(parsed.tags, buildTag) {
			parsed.tags = append(parsed.tags, buildTag)
		}
		again, err := parse(verb, joined[1:], goflags)
		if diff := cmp.Diff(parsed, again, cmp.AllowUnexported(flags{})); diff != "" || err != nil {
			t.Errorf("parse(%q): %v, -want +got:\n%s", joined, err, diff)
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

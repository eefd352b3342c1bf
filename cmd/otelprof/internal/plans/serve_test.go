package plans

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
	"github.com/otelprof/otelprof/internal/testutil"
)

// While a push replaces first the signature and then the document, no pair is offered that does not
// fit. A document that is signed anew is offered a second later.
func TestFollowedFileIsPushedWhole(t *testing.T) {
	document := func(id string) []byte {
		d, err := NewPlan{ID: id, Mode: string(profile.ModeSlowdown)}.Document(time.Now(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		// Its generation is the clock's, and must rise.
		return bytes.Replace(d, []byte("generation:"), []byte("# generation:"), 1)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, another, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	var l testutil.Log
	server, err := planserver.NewServer(planserver.WithLogger(l.Logger()))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown(context.Background())
	f := followed{name: filepath.Join(t.TempDir(), "plan.yaml"), server: server, log: l.Logger(), last: noPlan}
	one, two := document("one"), document("two")
	for _, step := range []struct {
		name, file string
		content    []byte
		pushed     int
	}{
		{"the first signature", ".sig", remote.Sign(one, key), 0},
		{"the first plan", "", one, 1},
		{"the signature of the second", ".sig", remote.Sign(two, key), 1},
		{"the second plan", "", two, 2},
		{"another signature", ".sig", remote.Sign(two, another), 2},
		{"a second later", ".sig", remote.Sign(two, another), 3},
		{"another second later", ".sig", remote.Sign(two, another), 3},
	} {
		if err := os.WriteFile(f.name+step.file, step.content, 0o600); err != nil {
			t.Fatal(err)
		}
		f.look()
		if n := strings.Count(l.String(), "plan pushed"); n != step.pushed {
			t.Errorf("%s: %d plans pushed, want %d:\n%s", step.name, n, step.pushed, l.String())
		}
	}
}

// A server that is started anew has the plan of its file before it listens.
func TestServePushesBeforeItListens(t *testing.T) {
	document, err := NewPlan{Mode: string(profile.ModeSlowdown)}.Document(time.Now(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var l testutil.Log
	err = serve(t.Context(), &command.Call{Stdout: io.Discard}, taken.Addr().String(), file, []planserver.Option{planserver.WithLogger(l.Logger())}, l.Logger())
	if err == nil || !strings.Contains(l.String(), "plan pushed") {
		t.Errorf("serve at an address that is taken = %v, said %q, want an error, and the plan pushed before", err, l.String())
	}
}

package stacks

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/google/pprof/profile"
)

// A recording says of which process it is, after it was written and read, too.
func TestOrigin(t *testing.T) {
	for _, want := range []Origin{
		{},
		{Service: "shop", Host: "web-1", PID: 4711},
		{Service: `sh"op ü` + "\n", Host: "a b"},
		{PID: 1},
	} {
		r := recorded()
		r.Origin = want
		got, err := Read(bytes.NewReader(written(t, r)))
		if err != nil || got.Origin != want {
			t.Errorf("origin %+v after it was read: %+v, %v", want, got.Origin, err)
		}
	}
	p, _ := testProfiler(t, WithPaused(), WithService("shop"))
	defer p.Shutdown(context.Background())
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Snapshot(0).Origin, (Origin{Service: "shop", Host: host, PID: os.Getpid()}); got != want {
		t.Errorf("origin of what this process recorded is %+v, want %+v", got, want)
	}
}

// What several processes recorded, or no process can have, has no origin.
func TestOriginUnknown(t *testing.T) {
	for _, comments := range [][]string{
		{processComment + `1 "a" "shop"`, processComment + `2 "a" "shop"`},
		{processComment + `-1 "a" "shop"`},
		{processComment + `1 a shop`},
		{processComment + `1 "a`},
	} {
		doc := pprofOf(t, func(p *profile.Profile) { p.Comments = append(p.Comments, comments...) })
		if r, err := Read(bytes.NewReader(doc)); err != nil || r.Origin != (Origin{}) {
			t.Errorf("comments %q: origin %+v, %v; want none", comments, r.Origin, err)
		}
	}
}

func TestOriginString(t *testing.T) {
	for want, o := range map[string]Origin{
		"":                         {},
		"shop (PID 4711 on web-1)": {Service: "shop", Host: "web-1", PID: 4711},
		"PID 4711 on web-1":        {Host: "web-1", PID: 4711},
		"shop (on web-1)":          {Service: "shop", Host: "web-1"},
		"shop (PID 1)":             {Service: "shop", PID: 1},
		"shop":                     {Service: "shop"},
		"on web-1":                 {Host: "web-1"},
	} {
		if got := o.String(); got != want {
			t.Errorf("%+v is %q, want %q", o, got, want)
		}
	}
}

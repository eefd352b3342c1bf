package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/integration/internal/child"
	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/viewer"
)

// A page is a viewer, and what is to be seen of it.
type page struct {
	name, url string
	shots     []shot
}

// A shot is a view, and an expression that does something in it and is true when that is done.
type shot struct{ name, hash, do string }

var (
	overview = shot{name: "overview", hash: "#/"}
	sessions = shot{name: "sessions", hash: "#/sessions"}
	causes   = shot{name: "causal", hash: "#/causal"}
	// region is one that is opened.
	region = shot{"region", "#/regions?q=reserve+stock", `document.querySelector("#main .histogram")`}
	// session is the slowest.
	session = shot{"session", "#/sessions", `document.querySelector(".timeline .row") || (document.querySelector("#main .session-row a")?.click(), false)`}
)

// goroutines are all of one moment.
var goroutines = shot{"goroutines", "#/goroutines", `document.querySelectorAll(".flame-box").length > 2`}

const openEditor = `(document.querySelector(".plan-editor").open = true)`

var ofShop = []shot{
	overview,
	{name: "regions", hash: "#/regions"},
	region, sessions, session,
	{"span", "#/sessions", `document.querySelector(".details[data-open]") || (document.querySelector("#main .session-row a, .timeline .row:nth-child(3)")?.click(), false)`},
	{"waits", "#/regions?q=reserve+stock", `document.querySelector(".schedule table") || document.querySelector(".schedule button:enabled")?.click()`},
	causes,
	{"plan-checked", "#/causal", openEditor + ` && document.querySelector(".plan-check")`},
	{"plan-problem", "#/causal", openEditor + ` && document.querySelector(".plan-problems") || (() => {
		const text = document.querySelector(".plan-editor textarea");
		if (!text.value.includes("duty: 5%")) return; // it is not written yet, or changed
		text.value = text.value.replace("duty: 5%", "duty: 150%");
		text.dispatchEvent(new Event("input"));
	})()`},
	{"audit", "#/causal", `(document.querySelector(".audit").open = true)`},
	{"experiments", "#/causal", `(document.querySelector(".experiments details").open = true)`},
	{name: "stacks", hash: "#/stacks"},
	{name: "stacks-region", hash: "#/stacks/reserve%20stock"},
	{"stacks-highrate", "#/stacks", `document.querySelector("#main").innerText.includes("at 1,000 Hz") || document.querySelector(".flame-notice")?.innerText.startsWith("No samples") ||
		void [...document.querySelectorAll("#main button")].find((b) => b.textContent.startsWith("1,000 samples"))?.click()`},
	goroutines,
	{"keys", "#/regions", `document.querySelector("#keys").open || document.querySelector("#help").click()`},
}

// views takes pictures of the shop, of what it has saved, of a page under a prefix, and of what has
// nothing to show.
func views(ctx context.Context, b viewing, s *shop, dir, into string, out io.Writer) (err error) {
	before := filepath.Join(dir, "before")
	if err := os.CopyFS(before, os.DirFS(s.data)); err != nil {
		return err
	}
	if err := b.everything(into, page{"shop", s.Address + "/", ofShop}, out); err != nil {
		return err
	}
	profile, err := fetch.Do(ctx, http.DefaultClient, http.MethodGet, s.Address+"/api/v1/causal/profile?samples=1", http.NoBody)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "profile.json")
	if err := os.WriteFile(file, profile, 0o644); err != nil {
		return err
	}
	tool := filepath.Join(dir, "otelprof")
	if err := child.Build(ctx, ".", "./cmd/otelprof", tool); err != nil {
		return err
	}
	for _, saved := range []struct {
		name  string
		args  []string
		shots []shot
	}{
		{"saved", []string{s.data, file}, []shot{overview, causes, region}},
		{"runs", []string{"-compare", before, s.data}, []shot{
			{name: "compare", hash: "#/compare"},
			{"compared", "#/compare", `document.querySelector("#main .histogram") || document.querySelector("#main .region-row button")?.click()`},
			overview, causes,
		}},
	} {
		p, err := child.Start(ctx, exec.Command(tool, append([]string{"view"}, saved.args...)...), "viewer")
		if err != nil {
			return err
		}
		if err := errors.Join(b.everything(into, page{saved.name, p.Address + "/", saved.shots}, out), p.Stop()); err != nil {
			return err
		}
	}
	if err := prefixed(ctx, b, into, out); err != nil {
		return err
	}
	return empty(ctx, b, into, out)
}

// empty takes pictures of viewers in this process: without a span, without an answer, and without a
// controller.
func empty(ctx context.Context, b viewing, into string, out io.Writer) error {
	for name, opts := range map[string][]otelprof.Option{"nothing": nil, "off": {otelprof.WithoutReplay()}} {
		prof, err := otelprof.Setup(ctx, append(opts, otelprof.WithServiceName(name), otelprof.WithViewer("127.0.0.1:0"), otelprof.WithoutGlobals())...)
		if err != nil {
			return err
		}
		if name == "off" {
			_, span := prof.TracerProvider().Tracer("screenshot").Start(ctx, "GET /", trace.WithSpanKind(trace.SpanKindServer))
			time.Sleep(time.Millisecond)
			span.End()
		}
		err = b.everything(into, page{name, prof.ViewerURL(), []shot{overview, {name: "regions", hash: "#/regions"}, sessions, causes}}, out)
		if err := errors.Join(err, prof.Shutdown(ctx)); err != nil {
			return err
		}
	}
	h, err := viewer.NewHandler(viewer.Sources{Regions: func() []spans.RegionStats { return nil }, Store: spans.NewRing(1 << 20)})
	if err != nil {
		return err
	}
	server, err := viewer.NewServer("127.0.0.1:0", h)
	if err != nil {
		return fmt.Errorf("viewer: %w", err)
	}
	return errors.Join(b.everything(into, page{"bare", server.URL(), []shot{causes, {name: "unknown", hash: "#/sessions/0123"}}}, out), server.Shutdown(ctx))
}

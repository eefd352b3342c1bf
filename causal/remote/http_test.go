package remote_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/internal/naming"
)

// A planServer gives the answers that are set, in a bubble, and keeps the requests.
type planServer struct {
	*testing.T
	c    *causal.Controller
	log  *bytes.Buffer
	pipe *remotetest.Pipe
	from *remote.HTTP
	stop func()

	mu       sync.Mutex
	answer   http.HandlerFunc
	requests []*http.Request
	times    []time.Time
}

// withServer runs f while the server is polled; the first poll is over and found no plan.
func withServer(t *testing.T, f func(s *planServer), opts ...remote.EndpointOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &planServer{T: t, c: remotetest.Controller(t), log: &bytes.Buffer{}, pipe: remotetest.NewPipe(), answer: status(http.StatusNoContent)}
		server := &http.Server{Handler: s}
		done := make(chan struct{})
		go func() { defer close(done); _ = server.Serve(s.pipe) }()
		source, err := remote.NewHTTP("http://localhost/plan?token=secret", append(opts, remote.WithDial(s.pipe.Dial))...)
		if err != nil {
			t.Fatal(err)
		}
		s.from = source
		logger := slog.New(slog.NewTextHandler(s.log, nil))
		s.stop = remotetest.Follow(t, s.c, source, remote.WithLogger(logger))
		synctest.Wait()
		f(s)
		s.stop()
		_ = server.Close()
		<-done
		time.Sleep(time.Minute) // for handlers to see it
	})
}

func (s *planServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	answer := s.answer
	s.requests, s.times = append(s.requests, r), append(s.times, time.Now())
	s.mu.Unlock()
	answer(w, r)
}

func (s *planServer) answers(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = h
}

// poll waits for the next poll, however the jitter falls.
func (s *planServer) poll() {
	s.mu.Lock()
	n := len(s.times)
	s.mu.Unlock()
	for range 1000 {
		time.Sleep(planhttp.DefaultInterval / 100)
		synctest.Wait()
		s.mu.Lock()
		polled := len(s.times) > n
		s.mu.Unlock()
		if polled {
			return
		}
	}
	s.Fatal("no poll in ten intervals")
}

func (s *planServer) want(state causal.State, reason string) {
	s.Helper()
	if got := s.c.Status(); got.State != state || got.Reason != reason {
		s.Errorf("Status() = %s, %q (last error %q), want %s, %q", got.State, got.Reason, got.LastError, state, reason)
	}
}

func (s *planServer) wantPlan(id string) {
	s.Helper()
	got := s.c.Status()
	if got.State != causal.StateRunning || got.Plan == nil || got.Plan.ID != id || got.Source != "http://localhost/plan" {
		s.Errorf("Status() = %s, %q, plan %+v from %q, want %s running from http://localhost/plan", got.State, got.Reason, got.Plan, got.Source, id)
	}
}

// plan answers with a plan, or 304, and these headers.
func pl(id string, header ...string) http.HandlerFunc {
	document := remotetest.Document(id, "a")
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		if etag := w.Header().Get("ETag"); etag != "" && r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, document)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestHTTPUnchanged(t *testing.T) {
	for name, header := range map[string][]string{
		"etag":      {"ETag", `"1"`},
		"weak etag": {"ETag", `W/"1"`},
		"no etag":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(s *planServer) {
				s.answers(pl("plan-1", header...))
				s.poll()
				s.wantPlan("plan-1")
				started := s.c.Profile().Started
				for range 10 {
					s.poll()
				}
				s.wantPlan("plan-1")
				if got := s.c.Profile().Started; !got.Equal(started) {
					t.Errorf("an unchanged plan started again at %v, first at %v", got, started)
				}
				if got := s.log.String(); got != "" {
					t.Errorf("the logger was told %q, want nothing", got)
				}
			})
		})
	}
}

// A source that is followed a second time asks for the whole plan, not for what has changed.
func TestHTTPFollowedTwice(t *testing.T) {
	withServer(t, func(s *planServer) {
		s.answers(pl("plan-1", "ETag", `"1"`))
		s.poll()
		s.wantPlan("plan-1")
		s.stop()
		s.want(causal.StateStopped, "the plan's source has ended")
		s.c = remotetest.Controller(s.T) // to the first one the plan has ended
		s.stop = remotetest.Follow(s.T, s.c, s.from)
		synctest.Wait()
		s.wantPlan("plan-1")
	})
}

// A dial that hangs is given up: the transport leaves it alone when the request's time is over.
func TestHTTPDialHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var dials atomic.Int32
		source, err := remote.NewHTTP("http://localhost/", remote.WithDial(func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials.Add(+1)
			defer dials.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		if err != nil {
			t.Fatal(err)
		}
		stop := remotetest.Follow(t, remotetest.Controller(t), source, remote.WithLogger(slog.New(slog.DiscardHandler)))
		time.Sleep(20 * planhttp.DefaultInterval)
		synctest.Wait()
		if n := dials.Load(); n > 2 {
			t.Errorf("%d dials go on after 20 polls, want those of the last at most", n)
		}
		stop()
		time.Sleep(planhttp.DefaultInterval)
	})
}

func TestHTTPChanges(t *testing.T) {
	withServer(t, func(s *planServer) {
		for i := range 5 {
			s.answers(pl(fmt.Sprint("plan-", i), "ETag", fmt.Sprintf(`"%d"`, i)))
			s.poll()
			s.wantPlan(fmt.Sprint("plan-", i))
		}
	})
}

func TestHTTPNoPlan(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"204":        status(http.StatusNoContent),
		"404":        status(http.StatusNotFound),
		"empty body": status(http.StatusOK),
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(s *planServer) {
				again := pl("plan-1", "ETag", `"1"`)
				s.answers(again)
				s.poll()
				s.wantPlan("plan-1")
				s.answers(answer)
				s.poll()
				if got := s.c.Status().State; got != causal.StateStopped {
					t.Errorf("state %s without a plan, want stopped", got)
				}
				s.answers(again) // the ETag is forgotten with the plan, the document is not
				s.poll()
				if got := s.c.Status(); got.State != causal.StateStopped || !strings.Contains(got.LastError, "has been in force and has ended") {
					t.Errorf("state %s, %q after the same document, want stopped", got.State, got.LastError)
				}
				s.answers(pl("plan-2"))
				s.poll()
				s.wantPlan("plan-2")
			})
		})
	}
}

func TestHTTPInvalid(t *testing.T) {
	for _, tt := range []struct {
		name string
		body func() string
		want string
	}{
		{"unknown key", func() string { return remotetest.Document("plan-2", "a", "regoins: []") }, "regoins: unknown key"},
		{"web page", func() string { return "<!DOCTYPE html><html></html>" }, "causal: plan"},
		{"one byte too large", func() string {
			d := remotetest.Document("plan-2", "a")
			return d + strings.Repeat("#", plan.MaxBytes+1-len(d))
		}, "document of 65537 bytes: must be at most 65536"},
		{"far too large", func() string { return strings.Repeat("#", 10<<20) }, "document of 65537 bytes: must be at most 65536"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withServer(t, func(s *planServer) {
				s.answers(pl("plan-1"))
				s.poll()
				s.wantPlan("plan-1")
				body := tt.body()
				s.answers(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
				for range 3 {
					s.poll()
					s.want(causal.StateStopped, "the next plan was rejected")
				}
				if got := s.c.Status().LastError; !strings.Contains(got, tt.want) || !strings.Contains(got, "http://localhost/plan: ") {
					t.Errorf("LastError = %q, want it to name the server and %q", got, tt.want)
				}
				s.answers(pl("plan-3"))
				s.poll()
				s.wantPlan("plan-3")
			})
		})
	}
}

// The largest document of all is read whole.
func TestHTTPLargestBody(t *testing.T) {
	withServer(t, func(s *planServer) {
		d := remotetest.Document("plan-1", "a")
		d += strings.Repeat("#", plan.MaxBytes-len(d))
		s.answers(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, d) })
		s.poll()
		s.wantPlan("plan-1")
	})
}

// lease is that of three polls, a tenth late each.
const lease = 33 * planhttp.DefaultInterval / 10

const leaseOver = "the plan's source has not answered for the time of three polls"

// An answer that is none keeps a plan for three polls and no longer, and is logged once.
func TestHTTPMissed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string // in the log
	}{
		{"401", status(http.StatusUnauthorized), "answer 401 Unauthorized: must be 200, 204, 304 or 404"},
		{"403", status(http.StatusForbidden), "answer 403 Forbidden"},
		{"500", status(http.StatusInternalServerError), "answer 500 Internal Server Error"},
		{"304 to no question", status(http.StatusNotModified), "answer 304 Not Modified"},
		{"302 elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1/elsewhere?token=theirs", http.StatusFound)
		}, "redirect to http://127.0.0.1/elsewhere: must be the same scheme and host"},
		{"302 in a circle", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plan", http.StatusFound) }, "more than 3 redirects"},
		{"never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "context deadline exceeded"},
		{"drop by drop", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("#"))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Second)
			}
		}, "context deadline exceeded"},
		{"torn", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("api: causal/v1"))
		}, "unexpected EOF"},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			remotetest.Flood(z, 10<<20)
			_ = z.Close()
		}, `Content-Encoding \"gzip\": must be identity`},
		{"large header", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Large", strings.Repeat("#", 1<<20))
		}, "server response headers exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withServer(t, func(s *planServer) {
				s.answers(pl("plan-1"))
				s.poll()
				s.wantPlan("plan-1")
				renewed := s.c.Status().Since
				s.answers(tt.answer)
				time.Sleep(lease - time.Second)
				s.wantPlan("plan-1")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				s.want(causal.StateStopped, leaseOver)
				if got := s.c.Status().Since.Sub(renewed); got < lease || got > lease+time.Second {
					t.Errorf("the plan ended after %v, want %v", got, lease)
				}
				for range 3 {
					s.poll()
				}
				s.want(causal.StateStopped, leaseOver)
				if got := s.log.String(); !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 || strings.Contains(got, "secret") {
					t.Errorf("the logger was told\n%s\nwant one line with %q, and no token", got, tt.want)
				}
				s.answers(pl("plan-2"))
				s.poll()
				s.wantPlan("plan-2")
				if got := s.log.String(); !strings.Contains(got, "level=INFO") || !strings.Contains(got, "answers again") {
					t.Errorf("the logger was told\n%s\nwant that the server answers again", got)
				}
			})
		})
	}
}

// The server is gone: nothing listens, then the connection that was open breaks too.
func TestHTTPServerGone(t *testing.T) {
	withServer(t, func(s *planServer) {
		s.answers(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			pl("plan-1")(w, r)
		})
		s.poll()
		s.wantPlan("plan-1")
		_ = s.pipe.Close()
		time.Sleep(lease + time.Second)
		synctest.Wait()
		s.want(causal.StateStopped, leaseOver)
		if got := s.log.String(); !strings.Contains(got, "connection refused") {
			t.Errorf("the logger was told %q, want the cause", got)
		}
	})
}

// Two polls that are missed are not three.
func TestHTTPAnswersAgain(t *testing.T) {
	withServer(t, func(s *planServer) {
		good := pl("plan-1", "ETag", `"1"`)
		for range 5 {
			s.answers(good)
			s.poll()
			s.wantPlan("plan-1")
			s.answers(status(http.StatusBadGateway))
			s.poll()
			s.poll()
			s.wantPlan("plan-1")
		}
	})
}

func TestHTTPRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header func() string
		lo, hi time.Duration
	}{
		{"seconds", func() string { return "60" }, 60 * time.Second, 66 * time.Second},
		{"date", func() string { return time.Now().Add(60 * time.Second).UTC().Format(http.TimeFormat) }, 59 * time.Second, 66 * time.Second},
		{"too long", func() string { return "86400" }, 5 * time.Minute, 330 * time.Second},
		{"less than the interval", func() string { return "1" }, 4500 * time.Millisecond, 5500 * time.Millisecond},
		{"in the past", func() string { return "Sun, 06 Nov 1994 08:49:37 GMT" }, 4500 * time.Millisecond, 5500 * time.Millisecond},
		{"neither", func() string { return "-5" }, 4500 * time.Millisecond, 5500 * time.Millisecond},
		{"far too large", func() string { return "99999999999999999999" }, 4500 * time.Millisecond, 5500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withServer(t, func(s *planServer) {
				s.answers(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", tt.header())
					w.WriteHeader(http.StatusServiceUnavailable)
				})
				s.poll()
				time.Sleep(15 * time.Minute)
				s.mu.Lock()
				defer s.mu.Unlock()
				for i := 2; i < len(s.times); i++ {
					if gap := s.times[i].Sub(s.times[i-1]); gap < tt.lo || gap > tt.hi {
						t.Errorf("%v between two polls, want it in [%v, %v]", gap, tt.lo, tt.hi)
					}
				}
				if len(s.times) < 3 {
					t.Errorf("%d polls in 15 minutes, want more", len(s.times))
				}
			})
		})
	}
}

// A server that puts the next poll off does not keep a plan for longer than others, and it is not
// said that it was asked more often.
func TestHTTPRetryAfterEndsPlan(t *testing.T) {
	withServer(t, func(s *planServer) {
		s.answers(pl("plan-1"))
		s.poll()
		s.wantPlan("plan-1")
		s.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		time.Sleep(2 * lease)
		synctest.Wait()
		s.want(causal.StateStopped, leaseOver)
		if missed := s.c.Status().Sources[0].Missed; missed != 1 {
			t.Errorf("%d polls were missed, want 1", missed)
		}
	})
}

// Polls differ from the interval by a tenth at most, and not always by the same.
func TestHTTPJitter(t *testing.T) {
	withServer(t, func(s *planServer) {
		time.Sleep(30 * time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		gaps := map[time.Duration]bool{}
		for i := 1; i < len(s.times); i++ {
			gap := s.times[i].Sub(s.times[i-1])
			gaps[gap] = true
			if gap < 9*time.Second || gap > 11*time.Second {
				t.Errorf("%v between two polls, want it in [9s, 11s]", gap)
			}
		}
		if len(gaps) < 100 {
			t.Errorf("%d different gaps among %d, want more than 100", len(gaps), len(s.times))
		}
	}, remote.WithInterval(10*time.Second))
}

func TestHTTPRequest(t *testing.T) {
	res := resource.NewSchemaless(attribute.String("service.name", "check\nout"),
		attribute.String("service.instance.id", "pod-1"), attribute.String("other", "x"))
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	withServer(t, func(s *planServer) {
		s.answers(pl("plan-1", "ETag", `"1"`))
		s.poll()
		if err := os.WriteFile(token, []byte("two"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.poll()
		s.mu.Lock()
		defer s.mu.Unlock()
		var got []http.Header
		for _, r := range s.requests {
			if r.Method != http.MethodGet || r.URL.String() != "/plan?token=secret" {
				t.Errorf("request %s %s, want GET /plan?token=secret", r.Method, r.URL)
			}
			if agent := r.Header.Get("User-Agent"); !strings.HasPrefix(agent, "otelprof/") {
				t.Errorf("User-Agent %q, want otelprof/ and a version", agent)
			}
			r.Header.Del("User-Agent")
			got = append(got, r.Header)
		}
		header := func(token string, more ...string) http.Header {
			h := http.Header{
				"Authorization":                {"Bearer " + token},
				"Accept-Encoding":              {"identity"},
				naming.HeaderServiceName:       {"checkout"},
				naming.HeaderServiceInstanceID: {"pod-1"},
				naming.HeaderState:             {"idle"},
			}
			for i := 0; i < len(more); i += 2 {
				h.Set(more[i], more[i+1])
			}
			return h
		}
		want := []http.Header{header("one"), header("one"), header("two", "If-None-Match", `"1"`, naming.HeaderPlanStatus, "applied", naming.HeaderState, "running")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers of the three requests (-want +got):\n%s", diff)
		}
	}, remote.WithResource(res), remote.WithTokenFile(token))
}

// Each poll tells what became of the plan before, in headers that are bounded.
func TestHTTPReport(t *testing.T) {
	withServer(t, func(s *planServer) {
		document := func(text string) {
			s.answers(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		}
		want := func(status, state, reason string) {
			t.Helper()
			s.poll()
			s.poll() // the one that tells
			s.mu.Lock()
			defer s.mu.Unlock()
			h := s.requests[len(s.requests)-1].Header
			if got := h.Get(naming.HeaderPlanStatus); got != status {
				t.Errorf("%s: %q, want %q", naming.HeaderPlanStatus, got, status)
			}
			if got := h.Get(naming.HeaderState); !strings.HasPrefix(got, state) {
				t.Errorf("%s: %q, want %q", naming.HeaderState, got, state)
			}
			if got := h.Get(naming.HeaderPlanError); !strings.Contains(got, reason) || reason == "" && got != "" || len(got) > 256 {
				t.Errorf("%s: %q, want %q in at most 256 bytes", naming.HeaderPlanError, got, reason)
			}
		}
		want("", "idle", "")
		document(remotetest.Document("plan-1", "a"))
		want("applied", "running", "")
		document(remotetest.Document("plan-2", "a", strings.Repeat("x", 1000)+"\u00e9: 1"))
		want("failed", "stopped: the next plan was rejected", "http://localhost/plan: causal: plan")
		document(remotetest.Document("plan-3", "a", "not_before: "+time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339)))
		want("applying", "waiting", "")
		s.answers(status(http.StatusNoContent))
		want("", "stopped: the server has no plan", "")
	})
}

// A token that cannot be had, or not be sent, is not sent, and not logged.
func TestHTTPToken(t *testing.T) {
	for name, tt := range map[string]struct {
		token string
		err   error
		want  string
	}{
		"none":      {"", nil, "token of 0 characters"},
		"two lines": {"secret\nInjected: 1", nil, "token of 18 characters: must have at least 1, and printable ASCII only"},
		"error":     {"secret", errors.New("the vault is closed"), "token: the vault is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, func(s *planServer) {
				time.Sleep(time.Minute)
				if len(s.requests) > 0 {
					t.Errorf("%d requests without a token, want none", len(s.requests))
				}
				if got := s.log.String(); !strings.Contains(got, tt.want) || strings.Contains(got, "secret") {
					t.Errorf("the logger was told %q, want %q and no token", got, tt.want)
				}
			}, remote.WithToken(func(context.Context) (string, error) { return tt.token, tt.err }))
		})
	}
}

func TestHTTPSigned(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	document := remotetest.Signable("plan-1", "a", 1)
	header := remote.Sign([]byte(document), private)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/unsigned" {
			w.Header().Set(naming.HeaderSignature, strings.TrimSpace(string(header)))
		}
		fmt.Fprint(w, document)
		if r.URL.Path == "/changed" {
			fmt.Fprintln(w, "limits: {duty: 100%}")
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"/signed":   "",
		"/unsigned": "causal/remote: signature: none: must be there, since a public key is set",
		"/changed":  "causal/remote: signature: made by none of the 1 public keys",
	} {
		c := remotetest.Controller(t)
		source, err := remote.NewHTTP(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		stop := remotetest.Follow(t, c, source, remote.WithPublicKeys(public))
		remotetest.Await(t, "an outcome", func() bool { s := c.Status(); return s.State == causal.StateRunning || s.LastError != "" })
		got := c.Status()
		if want == "" && got.State != causal.StateRunning || want != "" && !strings.Contains(got.LastError, want) {
			t.Errorf("%s: Status() = %s, %q, want an error with %q", path, got.State, got.LastError, want)
		}
		stop()
	}
}

package planserver_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
)

const (
	testToken     = "0123456789abcdef"
	instanceToken = "fedcba9876543210"
)

// plan returns a valid plan document.
func pl(id string, generation int) string {
	return fmt.Sprintf(`api: causal/v1
id: %s
generation: %d
author: night shift
expires_at: %s
regions:
  - span: work
progress:
  - {span: request, type: throughput}
`, id, generation, time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339))
}

// audit keeps what a server logs.
type audit struct{ testutil.Log }

// wants checks that the audit has these texts in this order.
func (a *audit) wants(t *testing.T, texts ...string) {
	t.Helper()
	rest := a.String()
	for _, text := range texts {
		i := strings.Index(rest, text)
		if i < 0 {
			t.Fatalf("audit lacks %q after what was wanted before it:\n%s", text, a)
		}
		rest = rest[i+len(text):]
	}
}

func newServer(t testing.TB, opts ...planserver.Option) *planserver.Server {
	t.Helper()
	s, err := planserver.NewServer(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
	})
	return s
}

func startServer(t *testing.T, opts ...planserver.Option) *planserver.Server {
	t.Helper()
	s := newServer(t, opts...)
	if err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return s
}

type answer struct {
	code   int
	body   string
	header http.Header
}

// ask sends a request to the handler as if it had come in on 127.0.0.1:4320.
func ask(h http.Handler, method, path, body string, headers ...string) answer {
	r := httptest.NewRequest(method, "http://127.0.0.1:4320"+path, strings.NewReader(body))
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, localAddr{}))
	if method == http.MethodPut || method == http.MethodDelete {
		r.Header.Set("Authorization", "Bearer "+testToken)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String(), w.Header()}
}

type localAddr struct{}

func (localAddr) Network() string { return "tcp" }
func (localAddr) String() string  { return "127.0.0.1:4320" }

func TestPlan(t *testing.T) {
	var log audit
	s := newServer(t, planserver.WithLogger(log.Logger()), planserver.WithToken(testToken))
	if got := ask(s, "GET", "/v1/plan", ""); got.code != 204 || got.header.Get("ETag") != "" {
		t.Errorf("GET without a plan = %d, want 204", got.code)
	}
	first := pl("first", 1)
	if got := ask(s, "PUT", "/v1/plan", first); got.code != 204 {
		t.Fatalf("PUT = %d %s", got.code, got.body)
	}
	got := ask(s, "GET", "/v1/plan", "")
	parsed, err := plan.Parse([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	etag := `"` + parsed.Hash() + `"`
	if got.code != 200 || got.body != first || got.header.Get("ETag") != etag || got.header.Get("Content-Type") != "text/yaml" {
		t.Errorf("GET = %d %s %v", got.code, got.body, got.header)
	}
	if got := ask(s, "GET", "/v1/plan", "", "If-None-Match", etag); got.code != 304 || got.body != "" {
		t.Errorf("GET with If-None-Match = %d %q, want 304", got.code, got.body)
	}
	for name, tt := range map[string]struct {
		body, query, signature string
		code                   int
		want                   string
	}{
		"not a plan":       {"api: causal/v1\nid: x\nduty: 1", "", "", 422, "line 3: duty: unknown key"},
		"empty":            {"", "", "", 422, "the document is empty"},
		"empty, forced":    {"", "?force=1", "", 422, "document of 0 bytes: must have 1 to 65536"},
		"expired":          {strings.Replace(pl("x", 9), time.Now().UTC().Format("2006"), "2001", 1), "", "", 422, "must be in the future"},
		"same generation":  {pl("second", 1), "", "", 409, "generation 1: must be above 1, the last one pushed, or 0"},
		"wrong signature":  {pl("second", 2), "", "rubbish", 422, `signature: "rubbish": must be 64 bytes as base64`},
		"too long":         {strings.Repeat(" ", plan.MaxBytes+1), "", "", 413, "must have at most 65536 bytes"},
		"too long, forced": {strings.Repeat(" ", plan.MaxBytes+1), "?force=1", "", 413, "must have at most 65536 bytes"},
	} {
		got := ask(s, "PUT", "/v1/plan"+tt.query, tt.body, naming.HeaderSignature, tt.signature)
		if got.code != tt.code || !strings.Contains(got.body, tt.want) || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: PUT = %d %q, want %d with %q", name, got.code, got.body, tt.code, tt.want)
		}
		if now := ask(s, "GET", "/v1/plan", ""); now.body != first {
			t.Errorf("%s: the plan before is gone: %d %s", name, now.code, now.body)
		}
	}
	if got := ask(s, "PUT", "/v1/plan", first); got.code != 204 {
		t.Errorf("PUT of the same again = %d %s, want 204", got.code, got.body)
	}
	if got := ask(s, "PUT", "/v1/plan?force=1", "{not: a plan}"); got.code != 204 {
		t.Errorf("PUT ?force = %d %s", got.code, got.body)
	}
	if got := ask(s, "GET", "/v1/plan", "", "If-None-Match", etag); got.code != 200 || got.body != "{not: a plan}" {
		t.Errorf("GET of what was forced = %d %s", got.code, got.body)
	}
	if got := ask(s, "DELETE", "/v1/plan", ""); got.code != 204 {
		t.Errorf("DELETE = %d", got.code)
	}
	if got := ask(s, "GET", "/v1/plan", "", "If-None-Match", etag); got.code != 204 {
		t.Errorf("GET after DELETE = %d, want 204", got.code)
	}
	if got := ask(s, "PUT", "/v1/plan", first); got.code != 409 {
		t.Errorf("PUT of the plan that was stopped = %d, want 409: its generation was used", got.code)
	}
	if got := ask(s, "PUT", "/v1/plan", pl("uncounted", 0)); got.code != 204 {
		t.Errorf("PUT without generation = %d %s", got.code, got.body)
	}
	log.wants(t, `msg="planserver: plan pushed"`, "id=first generation=1", `author="night shift"`, "checked=true",
		`msg="planserver: plan refused"`, `msg="planserver: plan pushed"`, "checked=false",
		`msg="planserver: plan stopped"`, `msg="planserver: plan refused"`, "generation 1: must be above 1",
		`msg="planserver: plan pushed"`, "id=uncounted")
}

func TestSignature(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, planserver.WithToken(testToken))
	doc := []byte(pl("signed", 1))
	signature := strings.TrimSpace(string(remote.Sign(doc, key)))
	if err := s.Push(doc, nil, "test"); err != nil {
		t.Fatal(err)
	}
	unsigned := ask(s, "GET", "/v1/plan", "")
	if got := ask(s, "PUT", "/v1/plan", string(doc), naming.HeaderSignature, signature); got.code != 204 {
		t.Errorf("PUT of the same plan signed = %d %s, want 204", got.code, got.body)
	}
	got := ask(s, "GET", "/v1/plan", "", "If-None-Match", unsigned.header.Get("ETag"))
	if got.code != 200 || got.header.Get(naming.HeaderSignature) != signature {
		t.Errorf("GET = %d, signature %q, want 200: who refused the unsigned one must get this one", got.code, got.header.Get(naming.HeaderSignature))
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log audit
		s := newServer(t, planserver.WithLogger(log.Logger()))
		if err := s.Push([]byte(pl("a", 1)), nil, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute)
		if err := s.Push([]byte(pl("b", 2)), nil, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Minute)
		if got := s.Fleet().Plan; got == nil || got.ID != "b" {
			t.Fatalf("plan before its end = %+v, want b", got)
		}
		time.Sleep(2 * time.Minute)
		if got := s.Fleet().Plan; got != nil {
			t.Errorf("plan after its end = %+v, want none", got)
		}
		log.wants(t, "plan pushed", "plan pushed", `msg="planserver: plan expired"`, "id=b")
		if strings.Count(log.String(), "plan expired") != 1 {
			t.Errorf("a plan that was replaced has expired:\n%s", &log)
		}
	})
}

func TestGuards(t *testing.T) {
	var log audit
	s := newServer(t, planserver.WithLogger(log.Logger()), planserver.WithToken(testToken),
		planserver.WithInstanceToken(instanceToken), planserver.WithHosts("plans.example.com"))
	const all, instances = "Bearer " + testToken, "Bearer " + instanceToken
	for _, tt := range []struct {
		method, path, host, authorization string
		headers                           []string
		code                              int
	}{
		{"GET", "/v1/plan", "127.0.0.1:4320", all, nil, 204},
		{"GET", "/v1/plan", "localhost:4320", all, nil, 204},
		{"GET", "/v1/plan", "PLANS.example.com", all, nil, 204},
		{"GET", "/v1/plan", "plans.example.com:4320", all, nil, 403},
		{"GET", "/v1/plan", "127.0.0.1", all, nil, 403},
		{"GET", "/v1/plan", "evil.example:4320", all, nil, 403},
		{"GET", "/v1/plan", "127.0.0.1:4320", instances, nil, 204},
		{"GET", "/v1/plan", "127.0.0.1:4320", "", nil, 401},
		{"GET", "/v1/instances", "127.0.0.1:4320", "Bearer x", nil, 401},
		{"GET", "/v1/instances", "127.0.0.1:4320", testToken, nil, 401},
		{"POST", "/v1/opamp", "127.0.0.1:4320", instances, nil, 415},
		{"POST", "/v1/opamp", "127.0.0.1:4320", "", nil, 401},
		{"GET", "/v1/opamp", "127.0.0.1:4320", instances, nil, 400},
		{"GET", "/v1/opamp", "127.0.0.1:4320", instances, []string{"Content-Type", "application/x-protobuf"}, 400},
		{"PUT", "/v1/plan", "127.0.0.1:4320", instances, nil, 401},
		{"DELETE", "/v1/plan", "127.0.0.1:4320", instances, nil, 401},
		{"DELETE", "/v1/plan", "127.0.0.1:4320", all, nil, 204},
		{"DELETE", "/v1/plan", "127.0.0.1:4320", all, []string{"Origin", "http://evil.example"}, 403},
		{"DELETE", "/v1/plan", "127.0.0.1:4320", all, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"PATCH", "/v1/plan", "127.0.0.1:4320", all, nil, 405},
		{"PATCH", "/v1/plan", "127.0.0.1:4320", instances, nil, 401},
		{"GET", "/", "127.0.0.1:4320", all, nil, 404},
	} {
		headers := append([]string{"Host", tt.host, "Authorization", tt.authorization}, tt.headers...)
		if got := ask(s, tt.method, tt.path, "", headers...); got.code != tt.code {
			t.Errorf("%s %s host %s %q %v = %d %q, want %d", tt.method, tt.path, tt.host, tt.authorization, tt.headers, got.code, got.body, tt.code)
		}
	}
	log.wants(t, `msg="planserver: unauthorized" method=GET`)
	if n := strings.Count(log.String(), "unauthorized"); n > 3 {
		t.Errorf("%d lines about 7 requests without a token in a moment: their sender fills the log", n)
	}
}

func TestNewErrors(t *testing.T) {
	_, err := planserver.NewServer(planserver.WithToken("short"), planserver.WithHosts("a b"), planserver.WithTLS(nil))
	if !errors.Is(err, planserver.ErrConfig) {
		t.Fatalf("New = %v, want ErrConfig", err)
	}
	want := strings.Join([]string{
		"planserver: configuration: token of 5 bytes: must have at least 16",
		`planserver: configuration: host "a b": must be name or name:port`,
		"planserver: configuration: TLS: must have a certificate",
	}, "\n")
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("New (-want +got):\n%s", diff)
	}
	for _, opts := range [][]planserver.Option{
		{planserver.WithAdmins("operator")},
		{planserver.WithAdmins("")},
		{planserver.WithToken(testToken), planserver.WithInstanceToken(testToken)},
		{planserver.WithToken("0123456789abcdef\n")},
	} {
		if _, err := planserver.NewServer(opts...); !errors.Is(err, planserver.ErrConfig) {
			t.Errorf("New = %v, want ErrConfig", err)
		}
	}
}

func TestFixedPlan(t *testing.T) {
	s := newServer(t, planserver.WithFixedPlan("plan.yaml"))
	if got := ask(s, "PUT", "/v1/plan", pl("x", 1)); got.code != 409 || !strings.Contains(got.body, "is taken from plan.yaml") {
		t.Errorf("PUT = %d %q, want 409", got.code, got.body)
	}
	if err := s.Push([]byte(pl("x", 1)), nil, "file"); err != nil {
		t.Fatal(err)
	}
	if got := ask(s, "DELETE", "/v1/plan", ""); got.code != 204 || s.Fleet().Plan != nil {
		t.Errorf("DELETE = %d, plan %v: stopping always works", got.code, s.Fleet().Plan)
	}
}

func TestFleetHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log audit
		s := newServer(t, planserver.WithLogger(log.Logger()))
		poll := func(service, id string) {
			ask(s, "GET", "/v1/plan", "", naming.HeaderServiceName, service, naming.HeaderServiceInstanceID, id)
		}
		poll("shop", "2")
		poll("shop", "1\x1b[2J"+strings.Repeat("x", 1000))
		ask(s, "GET", "/v1/plan", "") // no instance
		f := s.Fleet()
		if len(f.Instances) != 2 || len(f.Instances[0].InstanceID) != 256 || strings.ContainsRune(f.Instances[0].InstanceID, '\x1b') {
			t.Fatalf("fleet = %+v, want two, without control characters and cut off", f)
		}
		if diff := cmp.Diff(planserver.Instance{
			Service: "shop", InstanceID: "2", How: planserver.HowHTTP, LastSeen: time.Now(), Status: planserver.StatusUnset, Current: true,
		}, f.Instances[1]); diff != "" {
			t.Errorf("instance (-want +got):\n%s", diff)
		}
		if err := s.Push([]byte(pl("x", 1)), nil, "test"); err != nil {
			t.Fatal(err)
		}
		if s.Fleet().Instances[1].Current {
			t.Error("instance has the plan before it has asked for it")
		}
		poll("shop", "2")
		f = s.Fleet()
		if got := f.Instances[1]; !got.Current || got.Hash != f.Plan.Hash {
			t.Errorf("instance after its poll = %+v, want the plan %s", got, f.Plan.Hash)
		}
		log.wants(t, `msg="planserver: instance seen" service=shop instance=2 how=http`, `msg="planserver: instance given" service=shop instance=2`)

		// An instance that reports a plan has that one, and not the one that it is about to get.
		tell := func(etag string, more ...string) planserver.Instance {
			header := []string{naming.HeaderServiceName, "shop", naming.HeaderServiceInstanceID, "2", "If-None-Match", etag}
			ask(s, "GET", "/v1/plan", "", append(header, more...)...)
			return s.Fleet().Instances[1]
		}
		etag := `"` + f.Plan.Hash + `"`
		for _, tt := range []struct {
			got  planserver.Instance
			want string // hash, current, status, error, state
		}{
			{tell("", naming.HeaderState, "idle"), " false unset  idle"},
			{tell(etag, naming.HeaderState, "running", naming.HeaderPlanStatus, "applied"), f.Plan.Hash + " true applied  running"},
			{
				tell(etag, naming.HeaderState, "stopped", naming.HeaderPlanStatus, "failed", naming.HeaderPlanError, "line 3"),
				f.Plan.Hash + " true failed line 3 stopped",
			},
			{tell(`"theirs"`, naming.HeaderState, "running", naming.HeaderPlanStatus, "applied"), " false applied  running"},
			{tell(etag, naming.HeaderState, "running", naming.HeaderPlanStatus, "best"), " false unset  running"},
		} {
			if got := fmt.Sprint(tt.got.Hash, " ", tt.got.Current, " ", tt.got.Status, " ", tt.got.Error, " ", tt.got.State); got != tt.want {
				t.Errorf("instance after its poll = %q, want %q", got, tt.want)
			}
		}
		log.wants(t, `msg="planserver: instance applied" service=shop instance=2`, `msg="planserver: instance failed" service=shop instance=2`)

		time.Sleep(16 * time.Minute)
		poll("shop", "3")
		if f := s.Fleet(); len(f.Instances) != 1 || f.Forgotten != 2 {
			t.Errorf("fleet = %+v, want the one that still asks", f)
		}
		for i := range 4100 {
			poll("many", fmt.Sprint(i))
		}
		if f := s.Fleet(); len(f.Instances) != 4096 || f.Forgotten != 2+4101-4096 {
			t.Errorf("fleet of %d, %d forgotten, want 4096 and the rest", len(f.Instances), f.Forgotten)
		}
	})
}

// Where the list is full, the one that asked least lately makes room for a new name, in a time that
// does not depend on how long it is.
func TestNewNamesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		poll := func(id string) {
			time.Sleep(time.Millisecond)
			ask(s, "GET", "/v1/plan", "", naming.HeaderServiceName, "shop", naming.HeaderServiceInstanceID, id)
		}
		listed := func(id string) bool {
			return slices.ContainsFunc(s.Fleet().Instances, func(i planserver.Instance) bool { return i.InstanceID == id })
		}
		for _, id := range []string{"a", "b", "c"} {
			poll(id)
		}
		for i := range 4093 {
			poll(fmt.Sprint(i))
		}
		poll("a")
		poll("new")
		poll("newer")
		for id, want := range map[string]bool{"a": true, "b": false, "c": false, "0": true, "new": true, "newer": true} {
			if listed(id) != want {
				t.Errorf("%s is listed: %t, want %t", id, !want, want)
			}
		}
		if f := s.Fleet(); len(f.Instances) != 4096 || f.Forgotten != 2 {
			t.Errorf("%d instances, %d forgotten, want 4096 and 2", len(f.Instances), f.Forgotten)
		}
	})
}

// BenchmarkNewName is what a poll under a new name costs while the list is full.
func BenchmarkNewName(b *testing.B) {
	s := newServer(b)
	name := 0
	poll := func() {
		name++
		ask(s, "GET", "/v1/plan", "", naming.HeaderServiceName, "shop", naming.HeaderServiceInstanceID, fmt.Sprint(name))
	}
	for range 4096 {
		poll()
	}
	for b.Loop() {
		poll()
	}
}

// A client with the instances' token can fill neither the list nor the log with names.
func TestInstancesDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log audit
		s := newServer(t, planserver.WithLogger(log.Logger()))
		poll := func(i int) {
			ask(s, "GET", "/v1/plan", "", naming.HeaderServiceName, "made up", naming.HeaderServiceInstanceID, fmt.Sprint(i))
		}
		for i := range 3000 {
			poll(i)
		}
		if n := strings.Count(log.String(), "\n"); n > 1000 {
			t.Errorf("%d lines about 3000 names in a moment, want at most 1000", n)
		}
		time.Sleep(2 * time.Minute)
		poll(-1)
		log.wants(t, "more instances than are logged in a minute", "lines=5000", `msg="planserver: instance seen" service="made up" instance=-1`)
	})
}

// TestLargeBodies checks that what a sender makes the server keep in memory is bounded.
func TestLargeBodies(t *testing.T) {
	s := startServer(t)
	const size = 200 << 20
	bomb := bytes.Repeat(gzipped(t, zeros(1<<20)), size>>20) // packed streams can be joined
	send := func(method, path, kind, encoding string, body io.Reader) {
		r, err := http.NewRequest(method, s.URL()+path, io.NopCloser(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			return // the server has closed while we were sending
		}
		defer a.Body.Close()
		if a.StatusCode < 400 {
			t.Errorf("%s %s of %d bytes = %s, want a refusal", method, path, size, a.Status)
		}
	}
	defer http.DefaultClient.CloseIdleConnections()
	for name, f := range map[string]func(){
		"PUT":         func() { send("PUT", "/v1/plan", "text/yaml", "", zeros(size)) },
		"PUT, forced": func() { send("PUT", "/v1/plan?force=1", "text/yaml", "", zeros(size)) },
		"OpAMP":       func() { send("POST", "/v1/opamp", "application/x-protobuf", "", zeros(size)) },
		"OpAMP, gzip": func() { send("POST", "/v1/opamp", "application/x-protobuf", "gzip", bytes.NewReader(bomb)) },
		"WebSocket":   func() { floodWebSocket(t, s, size) },
	} {
		f() // connections and pools are there from now on
		if got := allocated(f); got > 1<<20 {
			t.Errorf("%s of 200 MiB: %d bytes allocated, want at most 1 MiB", name, got)
		} else {
			t.Logf("%s of 200 MiB: %d KiB allocated, sender included", name, got>>10)
		}
	}
}

func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A client that may only read the plan cannot push one: neither with the token of instances nor
// with a certificate nor from this machine.
func TestPushingIsARightOfItsOwn(t *testing.T) {
	for name, tt := range map[string]struct {
		opts          []planserver.Option
		authorization string
		read, push    int
	}{
		"nothing set, on loopback":            {nil, "", 204, 403},
		"token, none given":                   {[]planserver.Option{planserver.WithToken(testToken)}, "", 204, 401},
		"token, another given":                {[]planserver.Option{planserver.WithToken(testToken)}, "Bearer x", 204, 401},
		"token given":                         {[]planserver.Option{planserver.WithToken(testToken)}, "Bearer " + testToken, 204, 204},
		"instance token alone":                {[]planserver.Option{planserver.WithInstanceToken(instanceToken)}, "Bearer " + instanceToken, 204, 403},
		"instance token alone, another given": {[]planserver.Option{planserver.WithInstanceToken(instanceToken)}, "Bearer x", 401, 403},
		"instance token alone, none given":    {[]planserver.Option{planserver.WithInstanceToken(instanceToken)}, "", 401, 403},
		"both, that of instances":             {[]planserver.Option{planserver.WithToken(testToken), planserver.WithInstanceToken(instanceToken)}, "Bearer " + instanceToken, 204, 401},
		"both, none given":                    {[]planserver.Option{planserver.WithToken(testToken), planserver.WithInstanceToken(instanceToken)}, "", 401, 401},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, tt.opts...)
			if got := ask(s, "GET", "/v1/plan", "", "Authorization", tt.authorization); got.code != tt.read {
				t.Errorf("GET = %d %q, want %d", got.code, got.body, tt.read)
			}
			for _, path := range []string{"/v1/plan", "/v1/plan?force=1"} {
				if got := ask(s, "PUT", path, pl("x", 0), "Authorization", tt.authorization); got.code != tt.push {
					t.Errorf("PUT %s = %d %q, want %d", path, got.code, got.body, tt.push)
				}
			}
		})
	}
}

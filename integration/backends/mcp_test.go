package backends

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostTokens is how long an answer may be, at three bytes a token.
const mostTokens = 1500

// withToken sends a bearer token.
type withToken string

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMCP has an agent ask the shop, by the client of the official SDK: over HTTP in both
// generations of the protocol, and over standard input by the command. It finds the region that
// matters, and who holds what a request waits for; an experiment beyond the program's caps is
// refused by name, one within them is in the audit as the agent's.
func TestMCP(t *testing.T) {
	const token = "a token of the integration tests"
	data, address := t.TempDir(), freeAddress(t)
	file := filepath.Join(data, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, "shop", ours(t, "shop"), []string{"OTELPROF_VIEWER_TOKEN_FILE=" + file}, "-plan", "off", "-listen", address, "-data", data, "-clients", "4")
	eventually(t, 30*time.Second, func() error { _, err := get(t.Context(), "http://"+address+"/healthz"); return err })

	command := exec.Command(ours(t, "otelprof"), "mcp", "-experiments", address)
	command.Env = append(os.Environ(), "OTELPROF_TOKEN="+token)
	overHTTP := func() mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: "http://" + address + "/mcp", HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true}
	}
	for _, way := range []struct {
		name, version string
		transport     func() mcp.Transport
	}{
		{"http", "2026-07-28", overHTTP},
		{"http with a handshake", "2025-06-18", overHTTP},
		{"stdio", "2026-07-28", func() mcp.Transport { return &mcp.CommandTransport{Command: command} }},
	} {
		t.Run(way.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			name := "by " + way.name
			client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, nil)
			session, err := client.Connect(ctx, way.transport(), &mcp.ClientSessionOptions{ProtocolVersion: way.version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if got := session.InitializeResult().ProtocolVersion; got != way.version {
				t.Errorf("version %s, want %s", got, way.version)
			}
			if way.version == "2025-06-18" { // a request has no name of its own, and the viewer keeps none
				name = "of no name"
			}
			asks(ctx, t, session, name, address)
		})
	}
}

// callTool returns the text of an answer, which must not be too long, and whether it is an error.
func callTool(ctx context.Context, t *testing.T, session *mcp.ClientSession, name string, arguments any) (string, bool) {
	t.Helper()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if result.StructuredContent != nil || len(result.Content) != 1 {
		t.Fatalf("%s: %d contents and structured content %v: some clients would drop the text", name, len(result.Content), result.StructuredContent)
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	if text == nil {
		t.Fatalf("%s: content %T, want text", name, result.Content[0])
	}
	tokens := (len(text.Text) + 2) / 3
	t.Logf("mcp %s tokens=%d", name, tokens)
	if tokens > mostTokens {
		t.Errorf("%s: %d tokens, want at most %d", name, tokens, mostTokens)
	}
	return text.Text, result.IsError
}

// TestMCPOfATrace has an agent ask about an execution trace of a program of others: Jaeger's
// HotROD, whose requests wait most for a database with one connection.
func TestMCPOfATrace(t *testing.T) {
	dir := t.TempDir()
	record := exec.Command(ours(t, "realworld"), "-only", "^hotrod$", "-build", "go", "-windows", "1", "-traces", dir)
	if out, err := record.CombinedOutput(); err != nil {
		t.Fatalf("realworld: %v\n%s", err, out)
	}
	traces, err := filepath.Glob(filepath.Join(dir, "*.trace"))
	if err != nil || len(traces) != 1 {
		t.Fatalf("%d traces, %v, want one", len(traces), err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "of a trace", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(ours(t, "otelprof"), "mcp", traces[0])}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	text, failed := callTool(t.Context(), t, session, "rank", nil)
	first, _, _ := strings.Cut(text, "\n") // GET /customer is hardly more than its SQL SELECT
	if failed || !strings.Contains(first, "SQL SELECT") && !strings.Contains(first, "GET /customer") || strings.Index(text, "\n  SQL SELECT") > strings.Index(text, "\n  GET /route") {
		t.Errorf("rank: the database is not first:\n%s", text)
	}
	text, failed = callTool(t.Context(), t, session, "explain", map[string]any{"region": "GET /customer"})
	if failed || !strings.Contains(text, "tracing.(*Mutex).Lock") {
		t.Errorf("explain: the lock of the database is not named:\n%s", text)
	}
}

func asks(ctx context.Context, t *testing.T, session *mcp.ClientSession, agent, address string) {
	t.Helper()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(tools.Tools) == 0 || len(tools.Tools) > 8 {
		t.Errorf("%d tools, want at most 8", len(tools.Tools))
	}
	call := func(name string, arguments any) (string, bool) { return callTool(ctx, t, session, name, arguments) }
	eventually(t, time.Minute, func() error {
		text, failed := call("rank", nil)
		if first, _, _ := strings.Cut(text, "\n"); failed || !strings.Contains(first, "reserve stock") {
			return fmt.Errorf("rank: %s", text)
		}
		return nil
	})
	for _, tt := range []struct {
		tool      string
		arguments any
		want      []string
		fails     bool
	}{
		{"explain", map[string]any{"region": "POST /orders"}, []string{"lock at main.(*stockroom).Reserve", "POST /orders at main.(*stockroom)", "slowest sessions"}, false},
		{"explain", map[string]any{"region": "nothing"}, []string{"must be one of", "reserve stock"}, true},
		{"whatif", map[string]any{"region": "reserve stock"}, []string{"POST /orders", "reserve stock"}, false},
		{"session", map[string]any{"region": "reserve stock"}, []string{"price cart", "UPDATE stock"}, false},
		{"compare", map[string]any{"seconds": 2}, []string{"reserve stock", "a second"}, false},
		{"plan_check", map[string]any{"plan": "api: causal/v1"}, []string{"must"}, true},
		{"experiment", map[string]any{"minutes": 1, "duty_percent": 101}, []string{"limits.duty"}, true},
		{"experiment", map[string]any{"minutes": 1, "reason": "to see"}, []string{"state running", "reserve stock", "cost at most"}, false},
		{"experiment", map[string]any{"stop": true}, []string{"no experiment is in force"}, false},
	} {
		text, failed := call(tt.tool, tt.arguments)
		if failed != tt.fails {
			t.Errorf("%s %v: failed %v, want %v:\n%s", tt.tool, tt.arguments, failed, tt.fails, text)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s %v: has no %q:\n%s", tt.tool, tt.arguments, want, text)
			}
		}
	}
	var answer struct {
		Status struct {
			Audit []struct {
				Kind       string `json:"kind"`
				Author     string `json:"author"`
				PlanReason string `json:"plan_reason"`
			} `json:"audit"`
		} `json:"status"`
	}
	if err := getJSON(ctx, "http://"+address+"/api/v1/causal/plan", &answer); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range answer.Status.Audit {
		found = found || e.Kind == "started" && e.Author == "agent "+agent && e.PlanReason == "to see"
	}
	if !found {
		t.Errorf("the audit has no plan of %q: %+v", "agent "+agent, answer.Status.Audit)
	}
}

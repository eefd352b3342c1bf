package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testServer() *Server {
	return &Server{Name: "test", Version: "1", Instructions: "begin with echo", Tools: []Tool{
		{Name: "echo", Description: "says it again", Input: json.RawMessage(`{"type":"object"}`), Call: func(ctx context.Context, a json.RawMessage) (string, error) {
			return Client(ctx) + ": " + string(a), nil
		}},
		{Name: "fail", Writes: true, Input: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, json.RawMessage) (string, error) {
			return "", errors.New("region \"x\": must be one of a, b")
		}},
		{Name: "panic", Input: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, json.RawMessage) (string, error) { panic("no") }},
	}}
}

// handled is the answer as a tree.
func handled(t *testing.T, s *Server, text string) any {
	t.Helper()
	answer := s.Handle(t.Context(), []byte(text))
	if answer == nil {
		return nil
	}
	var tree any
	if err := json.Unmarshal(answer, &tree); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	return tree
}

func tree(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const now = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"agent","version":"2"}}`

// Messages of both generations have the answers of theirs.
func TestHandle(t *testing.T) {
	s := testServer()
	for name, tt := range map[string]struct{ message, want string }{
		"initialize": {
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"},"instructions":"begin with echo"}}`,
		},
		"initialize with an unknown version": {
			`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"1999-01-01"}}`,
			`{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"},"instructions":"begin with echo"}}`,
		},
		"initialize with a version that has batches": {
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"},"instructions":"begin with echo"}}`,
		},
		"ping": {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"call": {
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":": {\"a\":1}"}]}}`,
		},
		"call without a handshake": {
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo",` + now + `}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}},"content":[{"type":"text","text":"agent: {}"}]}}`,
		},
		"a tool without an answer": {
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"fail"}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"region \"x\": must be one of a, b"}],"isError":true}}`,
		},
		"a tool that panics": {
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"panic"}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"internal error: the tool panicked: no"}],"isError":true}}`,
		},
		"no such tool": {
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ehco"}}`,
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"tool \"ehco\": must be one of [echo fail panic]"}}`,
		},
		"no such method": {
			`{"jsonrpc":"2.0","id":5,"method":"resources/list"}`,
			`{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"method \"resources/list\": must be server/discover, initialize, ping, tools/list or tools/call"}}`,
		},
		"a later version": {
			`{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}`,
			`{"jsonrpc":"2.0","id":6,"error":{"code":-32022,"message":"protocol version \"2030-01-01\": must be one of [2026-07-28 2025-11-25 2025-06-18]","data":{"supported":["2026-07-28","2025-11-25","2025-06-18"],"requested":"2030-01-01"}}}`,
		},
		"no version of JSON-RPC": {`{"id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"message: must have jsonrpc 2.0 and a method"}}`},
	} {
		if diff := cmp.Diff(tree(t, tt.want), handled(t, s, tt.message)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := s.Handle(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); got != nil {
		t.Errorf("a notification has the answer %s", got)
	}
	if got := string(s.Handle(t.Context(), []byte("[]"))); !strings.Contains(got, "-32700") || !strings.Contains(got, `"id":null`) {
		t.Errorf("what is no message has the answer %s", got)
	}
}

// An error repeats little of what it is about.
func TestHandleLongNames(t *testing.T) {
	s := testServer()
	long := strings.Repeat("x", 100_000)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + long + `"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + long + `"}}}`,
	} {
		if got := s.Handle(t.Context(), []byte(message)); len(got) > 1000 || !strings.Contains(string(got), `"error"`) {
			t.Errorf("%.60s…: an answer of %d bytes, want an error of at most 1000", message, len(got))
		}
	}
}

// Tools that write say so, and results of the stateless protocol say for how long they may be kept.
func TestList(t *testing.T) {
	for _, params := range []string{"{}", "{" + now + "}"} {
		result, _ := handled(t, testServer(), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`).(map[string]any)["result"].(map[string]any)
		tools, _ := result["tools"].([]any)
		if len(tools) != 3 {
			t.Fatalf("%d tools, want 3", len(tools))
		}
		for i, readOnly := range []bool{true, false, true} {
			hints, _ := tools[i].(map[string]any)["annotations"].(map[string]any)
			if hints["readOnlyHint"] != readOnly || hints["openWorldHint"] != false || hints["destructiveHint"] != false {
				t.Errorf("tool %d has the hints %v", i, hints)
			}
		}
		if _, has := result["ttlMs"]; has != (params != "{}") {
			t.Errorf("%s: result %v", params, result)
		}
	}
}

func TestServe(t *testing.T) {
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"editor","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "",
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`,
	}, "\n")
	var out strings.Builder
	if err := testServer().Serve(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "editor: {}") {
		t.Errorf("answers %q, want two, the second with the client's name", lines)
	}
	if err := testServer().Serve(t.Context(), strings.NewReader(strings.Repeat("x", maxMessage+1)), &out); err == nil || !strings.Contains(err.Error(), "at most 1048576 bytes") {
		t.Errorf("a message that is too long: %v", err)
	}
	longest := `{"method":"` + strings.Repeat("x", maxMessage-len(`{"method":""}`)) + `"}`
	if err := testServer().Serve(t.Context(), strings.NewReader(longest+"\n"), &out); err != nil {
		t.Errorf("a message of %d bytes: %v", len(longest), err)
	}
	gone := errors.New("gone")
	if err := testServer().Serve(t.Context(), iotest.ErrReader(gone), &out); !errors.Is(err, gone) || strings.Contains(err.Error(), "at most") {
		t.Errorf("an input that cannot be read: %v, want its own error", err)
	}
}

// Calls of tools wait neither for one another nor hold up what else comes, a call that was
// cancelled has no answer, and all that are under way when the input ends have theirs.
func TestServeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Tools: []Tool{{Name: "wait", Call: func(ctx context.Context, a json.RawMessage) (string, error) {
			var of struct{ Seconds int }
			if err := json.Unmarshal(a, &of); err != nil {
				return "", err
			}
			select {
			case <-time.After(time.Duration(of.Seconds) * time.Second):
				return "waited", nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}}}}
		call := func(id string, seconds int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait","arguments":{"seconds":%d}}}`, id, seconds)
		}
		serve := func(in ...string) (ids []string, took time.Duration) {
			start := time.Now()
			var out strings.Builder
			if err := s.Serve(t.Context(), strings.NewReader(strings.Join(in, "\n")), &out); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				var a answer
				if err := json.Unmarshal([]byte(line), &a); err != nil || a.Error != nil {
					t.Errorf("answer %q: %v", line, err)
				}
				ids = append(ids, string(a.ID))
			}
			return ids, time.Since(start)
		}
		ids, took := serve(call("1", 3600), call(`"b"`, 2), call("3", 1), `{"jsonrpc":"2.0","id":4,"method":"ping"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no more needed"}}`)
		if diff := cmp.Diff([]string{"4", "3", `"b"`}, ids); diff != "" || took != 2*time.Second {
			t.Errorf("served in %v, want 2s; answers (-want +got):\n%s", took, diff)
		}
		var many []string
		for i := range 2*atOnce + 1 {
			many = append(many, call(fmt.Sprint(i), 1))
		}
		if ids, took := serve(many...); len(ids) != len(many) || took != 3*time.Second {
			t.Errorf("%d of %d calls of 1 s answered in %v, want all in 3s, since %d are under way at most", len(ids), len(many), took, atOnce)
		}
	})
}

// A client that reads no more ends the conversation.
func TestServeUnread(t *testing.T) {
	gone := errors.New("gone")
	r, w := io.Pipe()
	_ = r.CloseWithError(gone) // is nil always
	for _, text := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`} {
		if err := testServer().Serve(t.Context(), strings.NewReader(text), w); !errors.Is(err, gone) {
			t.Errorf("%s: error %v, want that of the output", text, err)
		}
	}
}

func TestServeHTTP(t *testing.T) {
	post := func(body string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		testServer().ServeHTTP(w, r)
		return w
	}
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo",` + now + `}}`
	if w := post(call, "Mcp-Method", "tools/call", "Mcp-Name", "echo", "Mcp-Protocol-Version", "2026-07-28"); w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), "agent: {}") {
		t.Errorf("call: %d %v %s", w.Code, w.Header(), w.Body)
	}
	for _, wrong := range [][]string{{"Mcp-Method", "tools/list"}, {"Mcp-Name", "fail"}, {"Mcp-Protocol-Version", "2025-11-25"}} {
		if w := post(call, wrong...); w.Code != 400 || !strings.Contains(w.Body.String(), "-32020") {
			t.Errorf("%v: %d %s, want a mismatch", wrong, w.Code, w.Body)
		}
	}
	if w := post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Protocol-Version", "2031-01-01"); w.Code != 400 || !strings.Contains(w.Body.String(), "-32022") {
		t.Errorf("a later version: %d %s", w.Code, w.Body)
	}
	if w := post(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`); w.Code != http.StatusAccepted || w.Body.Len() != 0 {
		t.Errorf("notification: %d %s", w.Code, w.Body)
	}
	if w := post(strings.Repeat("x", maxMessage+1)); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a message that is too long: %d", w.Code)
	}
}

// Whatever is sent has an answer that is JSON, or none.
func FuzzHandle(f *testing.F) {
	for _, text := range []string{
		"", "{}", "[]", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":[]}}`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"initialize","params":3}`, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + now + `}}`,
	} {
		f.Add([]byte(text))
	}
	s := testServer()
	f.Fuzz(func(t *testing.T, text []byte) {
		if answer := s.Handle(context.Background(), text); answer != nil && !json.Valid(answer) {
			t.Errorf("%q: answer %q", text, answer)
		}
		if fault := mismatch(http.Header{"Mcp-Method": {"x"}}, text); fault != nil && !json.Valid(fault) {
			t.Errorf("%q: fault %q", text, fault)
		}
	})
}

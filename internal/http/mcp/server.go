package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A Tool is something that an agent may call.
type Tool struct {
	Name        string
	Description string
	// Input is the JSON Schema of the arguments: an object's.
	Input json.RawMessage
	// Writes is true for a tool that changes something in the program; others only read.
	Writes bool
	// Call returns the answer, as text for a model. An error is the model's to read, too: it says
	// what to do instead.
	Call func(ctx context.Context, arguments json.RawMessage) (string, error)
}

// A Server answers messages. Its fields must not change while it does.
type Server struct {
	Name, Version string
	// Instructions say what the tools are for, to a model that has not called one.
	Instructions string
	Tools        []Tool
}

// The versions of the protocol, the newest first. From stateless on there is no handshake. Before
// 2025-06-18 a server had to take batches of messages.
const stateless = "2026-07-28"

var versions = []string{stateless, "2025-11-25", "2025-06-18"}

// Codes of errors: those of JSON-RPC, and the protocol's own.
const (
	codeParse          = -32700
	codeInvalid        = -32600
	codeMethod         = -32601
	codeParams         = -32602
	codeHeaderMismatch = -32020
	codeVersion        = -32022
)

// A message is a request, or a notification where it has no ID.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// params are those of all methods.
type params struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Name            string          `json:"name"`
	Arguments       json.RawMessage `json:"arguments"`
	ClientInfo      implementation  `json:"clientInfo"` // of initialize
	RequestID       json.RawMessage `json:"requestId"`  // of notifications/cancelled
	Meta            meta            `json:"_meta"`
}

// meta is what requests of the stateless protocol bring with them.
type meta struct {
	Version string         `json:"io.modelcontextprotocol/protocolVersion"`
	Client  implementation `json:"io.modelcontextprotocol/clientInfo"`
}

type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

type clientKey struct{}

// Client returns the name of the agent's program, "" where that is not known.
func Client(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}

// Handle answers one message; it returns nil for a notification, which has no answer.
func (s *Server) Handle(ctx context.Context, text []byte) []byte {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return encode(nil, nil, &failure{Code: codeParse, Message: "message: must be one JSON object: " + err.Error()})
	}
	if len(m.ID) == 0 || bytes.Equal(m.ID, []byte("null")) {
		return nil
	}
	if m.JSONRPC != "2.0" || m.Method == "" {
		return encode(m.ID, nil, &failure{Code: codeInvalid, Message: "message: must have jsonrpc 2.0 and a method"})
	}
	result, fault := s.call(ctx, m)
	return encode(m.ID, result, fault)
}

func encode(id json.RawMessage, result any, fault *failure) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(answer{JSONRPC: "2.0", ID: id, Result: result, Error: fault})
	if err != nil { // of what this package has made itself
		panic(err)
	}
	return text
}

func (s *Server) call(ctx context.Context, m message) (any, *failure) {
	var p params
	if len(m.Params) > 0 {
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return nil, &failure{Code: codeParams, Message: "params: " + err.Error()}
		}
	}
	version := p.Meta.Version
	if version != "" && !slices.Contains(versions, version) {
		return nil, unsupported(version)
	}
	if name := p.Meta.Client.Name; name != "" {
		ctx = context.WithValue(ctx, clientKey{}, name)
	}
	switch m.Method {
	case "initialize":
		return s.initialized(p.ProtocolVersion), nil
	case "server/discover":
		return s.discovered(), nil
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return s.listed(version), nil
	case "tools/call":
		return s.called(ctx, p)
	}
	return nil, &failure{Code: codeMethod, Message: fmt.Sprintf("method %.100q: must be server/discover, initialize, ping, tools/list or tools/call", m.Method)}
}

func unsupported(version string) *failure {
	return &failure{Code: codeVersion, Message: fmt.Sprintf("protocol version %.100q: must be one of %v", version, versions), Data: map[string]any{"supported": versions, "requested": fmt.Sprintf("%.100s", version)}}
}

// capabilities are what the server can do.
type capabilities struct {
	Tools struct{} `json:"tools"`
}

// initialized answers the handshake of the older generation, with the client's version if that is
// one of them.
func (s *Server) initialized(version string) any {
	if version == stateless || !slices.Contains(versions, version) {
		version = versions[1]
	}
	return struct {
		ProtocolVersion string         `json:"protocolVersion"`
		Capabilities    capabilities   `json:"capabilities"`
		ServerInfo      implementation `json:"serverInfo"`
		Instructions    string         `json:"instructions,omitempty"`
	}{version, capabilities{}, implementation{s.Name, s.Version}, s.Instructions}
}

// complete is what results of the stateless protocol begin with.
type complete struct {
	ResultType string         `json:"resultType"`
	Meta       map[string]any `json:"_meta"`
}

func (s *Server) complete() *complete {
	return &complete{"complete", map[string]any{"io.modelcontextprotocol/serverInfo": implementation{s.Name, s.Version}}}
}

// cacheable is for how long a result may be kept, and for whom.
type cacheable struct {
	TTLMs      int    `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

func (s *Server) discovered() any {
	return struct {
		*complete
		cacheable
		SupportedVersions []string     `json:"supportedVersions"`
		Capabilities      capabilities `json:"capabilities"`
		Instructions      string       `json:"instructions,omitempty"`
	}{s.complete(), cacheable{0, "public"}, versions, capabilities{}, s.Instructions}
}

type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations annotations     `json:"annotations"`
}

type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

func (s *Server) listed(version string) any {
	out := struct {
		*complete // nil, as cacheable, with a handshake
		*cacheable
		Tools []listedTool `json:"tools"`
	}{Tools: make([]listedTool, len(s.Tools))}
	for i, t := range s.Tools {
		out.Tools[i] = listedTool{t.Name, t.Description, t.Input, annotations{ReadOnly: !t.Writes, Idempotent: !t.Writes}}
	}
	if version == stateless {
		out.complete, out.cacheable = s.complete(), &cacheable{0, "public"}
	}
	return out
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// errPanicked is what an agent reads of a tool that has panicked.
var errPanicked = errors.New("internal error: the tool panicked")

// called calls a tool. That it has no answer is a result too, for the model to read.
func (s *Server) called(ctx context.Context, p params) (any, *failure) {
	i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == p.Name })
	if i < 0 {
		names := make([]string, len(s.Tools))
		for i, t := range s.Tools {
			names[i] = t.Name
		}
		return nil, &failure{Code: codeParams, Message: fmt.Sprintf("tool %.100q: must be one of %v", p.Name, names)}
	}
	if len(p.Arguments) == 0 {
		p.Arguments = json.RawMessage("{}")
	}
	text, err := safely(func() (string, error) { return s.Tools[i].Call(ctx, p.Arguments) })
	if err != nil {
		text = err.Error()
	}
	out := struct {
		*complete               // nil with a handshake
		Content   []textContent `json:"content"`
		IsError   bool          `json:"isError,omitempty"`
	}{Content: []textContent{{"text", text}}, IsError: err != nil}
	if p.Meta.Version == stateless {
		out.complete = s.complete()
	}
	return out, nil
}

func safely(call func() (string, error)) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return call()
}

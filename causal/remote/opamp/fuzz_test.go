package opamp_test

import (
	"crypto/sha1"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/open-telemetry/opamp-go/protobufs"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/internal/naming"
)

// acceptKey answers a WebSocket's handshake, RFC 6455, section 4.2.2.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Any message is taken without a panic over both transports, and the answer to it can be sent.
func FuzzServerToAgent(f *testing.F) {
	for _, m := range []*protobufs.ServerToAgent{
		{},
		{RemoteConfig: config("1", naming.OpAMPPlan, "api: causal/v1")},
		{RemoteConfig: config("1", naming.OpAMPPlan, "\xff", naming.OpAMPSignature, "\xff")},
		{RemoteConfig: &protobufs.AgentRemoteConfig{}},
		{Flags: 1<<64 - 1, Capabilities: 1<<64 - 1},
		{ErrorResponse: &protobufs.ServerErrorResponse{Type: 7, ErrorMessage: "x"}},
		{ErrorResponse: &protobufs.ServerErrorResponse{Type: 2, Details: &protobufs.ServerErrorResponse_RetryInfo{}}},
		{AgentIdentification: &protobufs.AgentIdentification{NewInstanceUid: make([]byte, 16)}},
		{Command: &protobufs.ServerToAgentCommand{}, CustomMessage: &protobufs.CustomMessage{}},
	} {
		f.Add(frame(f, m))
	}
	f.Add([]byte{0})
	f.Add([]byte("\x1a\x0a\x0a\x08\x0a\x06\x0a\x04null")) // a map whose entry has no value
	f.Fuzz(func(t *testing.T, message []byte) {
		answered := 0
		handler := func(w http.ResponseWriter, r *http.Request) {
			if !websocket.IsWebSocketUpgrade(r) {
				answered++
				_, _ = w.Write(message)
				return
			}
			upgraded(func(conn *websocket.Conn) {
				answered++
				_ = conn.WriteMessage(websocket.BinaryMessage, message)
				drain(conn)
			})(w, r)
		}
		for _, scheme := range []string{"ws", "http"} {
			inBubble(t, scheme, handler, func(t *testing.T, c *causal.Controller, l *log) {
				time.Sleep(planhttp.DefaultInterval)
				synctest.Wait()
				s := c.Status()
				if answered == 0 || l.count("panic") > 0 || strings.Contains(s.LastError, "panic") || l.count("proto:") > l.count("must be a ServerToAgent") {
					t.Errorf("%s: Status() = %+v, log %q after message %x", scheme, s, l.lines, message)
				}
			})
		}
	})
}

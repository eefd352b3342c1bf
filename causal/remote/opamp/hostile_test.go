package opamp_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/open-telemetry/opamp-go/protobufs"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/causal/remote/internal/remotetest"
	"github.com/otelprof/otelprof/internal/http/planhttp"
	"github.com/otelprof/otelprof/internal/naming"
)

// A frame is what a server says: on a WebSocket as it is, over HTTP as a body.
func frame(t testing.TB, m *protobufs.ServerToAgent) []byte {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// upgraded makes a handler of one that has a WebSocket.
func upgraded(f func(conn *websocket.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{}
		if conn, err := upgrader.Upgrade(w, r, nil); err == nil {
			defer conn.Close()
			f(conn)
		}
	}
}

// drain reads until the connection ends. It answers pings.
func drain(conn *websocket.Conn) {
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			return
		}
	}
}

// inBubble runs f with a client, in a bubble, of a server that answers so.
func inBubble(t *testing.T, scheme string, handler http.HandlerFunc, f func(t *testing.T, c *causal.Controller, l *log)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pipe := remotetest.NewPipe()
		server := &http.Server{Handler: handler}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(pipe) }()
		c, l := remotetest.Controller(t), newLog()
		stop := remotetest.Follow(t, c, newClient(t, scheme+"://localhost/", remote.WithDial(pipe.Dial)), l.option())
		synctest.Wait()
		f(t, c, l)
		stop()
		_ = server.Close()
		<-served
		time.Sleep(time.Minute) // for handlers to see it
	})
}

// A plan that comes an interval after the server's first answer was not there when the process
// began. One that comes behind that answer was: servers may send it apart.
func TestFirstPlanComesLater(t *testing.T) {
	for _, scheme := range []string{"ws", "http"} {
		for _, tt := range []struct {
			after time.Duration
			want  causal.State
		}{{time.Second, causal.StateIdle}, {12 * time.Second, causal.StateRunning}} {
			t.Run(fmt.Sprint(scheme, tt.after), func(t *testing.T) {
				var began time.Time
				var document string
				answer := func() []byte {
					m := &protobufs.ServerToAgent{}
					if time.Since(began) >= tt.after {
						m.RemoteConfig = config("1", naming.OpAMPPlan, document)
					}
					return frame(t, m)
				}
				handler := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer()) }
				if scheme == "ws" {
					handler = upgraded(func(conn *websocket.Conn) {
						_, _, _ = conn.ReadMessage()
						_ = conn.WriteMessage(websocket.BinaryMessage, answer())
						time.AfterFunc(tt.after, func() { _ = conn.WriteMessage(websocket.BinaryMessage, answer()) })
						drain(conn)
					})
				}
				began = time.Now().Add(time.Hour) // the bubble's clock has another time
				inBubble(t, scheme, func(w http.ResponseWriter, r *http.Request) {
					if began.After(time.Now()) {
						began = time.Now()
						document = strings.ReplaceAll(remotetest.Document("plan-1", "a"), "restart: true", "")
					}
					handler(w, r)
				}, func(t *testing.T, c *causal.Controller, _ *log) {
					time.Sleep(20 * time.Second)
					synctest.Wait()
					if s := c.Status(); s.State != tt.want || (s.LastError == "") != (tt.want == causal.StateRunning) {
						t.Errorf("a plan after %v: state %s, last error %q, want %s", tt.after, s.State, s.LastError, tt.want)
					}
				})
			})
		}
	}
}

const lease = 33 * planhttp.DefaultInterval / 10

// A server that is silent for three heartbeats has no plan any more, over both transports. A
// WebSocket that answers pings is not silent.
func TestSilence(t *testing.T) {
	var document string // of a bubble, by its clock; a server offers it again and again
	first := func(t testing.TB) []byte {
		if document == "" {
			document = remotetest.Document("plan-1", "a")
		}
		return frame(t, &protobufs.ServerToAgent{RemoteConfig: config("1", naming.OpAMPPlan, document)})
	}
	for _, tt := range []struct {
		name, scheme string
		handler      http.HandlerFunc
		loses        bool
	}{
		{"WebSocket", "ws", upgraded(func(conn *websocket.Conn) {
			conn.SetPingHandler(func(string) error { return nil })
			_ = conn.WriteMessage(websocket.BinaryMessage, first(t))
			drain(conn)
		}), true},
		{"WebSocket with pongs", "ws", upgraded(func(conn *websocket.Conn) {
			_ = conn.WriteMessage(websocket.BinaryMessage, first(t))
			drain(conn)
		}), false},
		{"WebSocket with pings", "ws", upgraded(func(conn *websocket.Conn) {
			conn.SetPingHandler(func(string) error { return nil })
			_ = conn.WriteMessage(websocket.BinaryMessage, first(t))
			go drain(conn)
			// An open connection is not an answer.
			for conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) == nil {
				time.Sleep(time.Second)
			}
		}), true},
		{"HTTP", "http", func() http.HandlerFunc {
			var n atomic.Int32
			return func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) > 1 {
					_, _ = io.Copy(io.Discard, r.Body) // or the server does not see the end
					<-r.Context().Done()
					return
				}
				_, _ = w.Write(first(t))
			}
		}(), true},
		{"HTTP with answers", "http", func() http.HandlerFunc {
			var n atomic.Int32
			return func(w http.ResponseWriter, _ *http.Request) {
				if n.Add(1) == 1 {
					_, _ = w.Write(first(t))
				}
			}
		}(), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			document = ""
			inBubble(t, tt.scheme, tt.handler, func(t *testing.T, c *causal.Controller, l *log) {
				if s := c.Status(); s.State != causal.StateRunning {
					t.Fatalf("Status() = %s, %q (%s), want the plan running", s.State, s.Reason, s.LastError)
				}
				time.Sleep(lease - time.Second)
				if s := c.Status(); s.State != causal.StateRunning {
					t.Errorf("Status() = %s, %q within the lease", s.State, s.Reason)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if s := c.Status(); (s.State == causal.StateStopped) != tt.loses {
					t.Errorf("Status() = %s, %q after the lease, log %q", s.State, s.Reason, l.lines)
				}
			})
		})
	}
}

// A server that has answered heartbeats is given up when it does so no more, though a proxy answers
// pings; one that never has is not. It may come back.
func TestProxyThatAnswersPings(t *testing.T) {
	const answers = 5 * time.Minute
	for _, tt := range []struct {
		name    string
		answers bool
		loses   bool
	}{{"the server has answered heartbeats", true, true}, {"the server has never answered one", false, false}} {
		t.Run(tt.name, func(t *testing.T) {
			var connections atomic.Int32
			handler := upgraded(func(conn *websocket.Conn) {
				if connections.Add(1) > 1 { // nothing is behind the proxy any more
					drain(conn)
					return
				}
				began := time.Now()
				plan := frame(t, &protobufs.ServerToAgent{RemoteConfig: config("1", naming.OpAMPPlan, remotetest.Document("plan-1", "a"))})
				_ = conn.WriteMessage(websocket.BinaryMessage, plan)
				for tt.answers && time.Since(began) < answers {
					if _, _, err := conn.ReadMessage(); err != nil {
						return
					}
					_ = conn.WriteMessage(websocket.BinaryMessage, frame(t, &protobufs.ServerToAgent{}))
				}
				drain(conn)
			})
			inBubble(t, "ws", handler, func(t *testing.T, c *causal.Controller, l *log) {
				time.Sleep(answers)
				if s := c.Status(); s.State != causal.StateRunning {
					t.Fatalf("Status() = %s, %q while the server answers", s.State, s.Reason)
				}
				time.Sleep(lease + 2*planhttp.DefaultInterval)
				synctest.Wait()
				if s := c.Status(); (s.State == causal.StateStopped) != tt.loses {
					t.Errorf("Status() = %s, %q after the lease, log %q", s.State, s.Reason, l.lines)
				}
				if n := connections.Load(); (n > 1) != tt.loses {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

// An error that names a time is not asked again before it, five minutes at most.
func TestRetryInfo(t *testing.T) {
	refusal := &protobufs.ServerToAgent{ErrorResponse: &protobufs.ServerErrorResponse{
		Type: protobufs.ServerErrorResponseType_ServerErrorResponseType_Unavailable, ErrorMessage: "overloaded\xff"[:10],
		Details: &protobufs.ServerErrorResponse_RetryInfo{RetryInfo: &protobufs.RetryInfo{RetryAfterNanoseconds: uint64(time.Minute)}},
	}}
	forever := proto.Clone(refusal).(*protobufs.ServerToAgent)
	forever.ErrorResponse.GetRetryInfo().RetryAfterNanoseconds = 1<<64 - 1
	unavailable := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	say := func(m *protobufs.ServerToAgent) http.HandlerFunc {
		body := frame(t, m)
		return func(w http.ResponseWriter, r *http.Request) {
			if !websocket.IsWebSocketUpgrade(r) {
				_, _ = w.Write(body)
				return
			}
			upgraded(func(conn *websocket.Conn) {
				_ = conn.WriteMessage(websocket.BinaryMessage, body)
				drain(conn)
			})(w, r)
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		lo, hi  time.Duration
		want    string
	}{
		{"message", say(refusal), time.Minute, 66 * time.Second, `the server's error ServerErrorResponseType_Unavailable: "overloaded"`},
		{"message for ever", say(forever), 5 * time.Minute, 330 * time.Second, "overloaded"},
		{"header", unavailable, time.Minute, 66 * time.Second, "answer 503 Service Unavailable: must be"},
	} {
		for _, scheme := range []string{"ws", "http"} {
			t.Run(tt.name+"/"+scheme, func(t *testing.T) {
				var asked []time.Time
				handler := func(w http.ResponseWriter, r *http.Request) {
					asked = append(asked, time.Now())
					tt.handler(w, r)
				}
				inBubble(t, scheme, handler, func(t *testing.T, _ *causal.Controller, l *log) {
					time.Sleep(20 * time.Minute)
					synctest.Wait()
					for i := 1; i < len(asked); i++ {
						if gap := asked[i].Sub(asked[i-1]); gap < tt.lo || gap > tt.hi {
							t.Errorf("%v between two questions, want it in [%v, %v]", gap, tt.lo, tt.hi)
						}
					}
					if len(asked) < 3 || l.count(tt.want) == 0 {
						t.Errorf("%d questions in 20 minutes, log %q, want %q", len(asked), l.lines, tt.want)
					}
				})
			})
		}
	}
}

// A server that asks for everything with each answer is answered ten times a second at most over a
// WebSocket, and twice a poll over HTTP.
func TestStorm(t *testing.T) {
	body := frame(t, &protobufs.ServerToAgent{Flags: uint64(protobufs.ServerToAgentFlags_ServerToAgentFlags_ReportFullState)})
	for scheme, most := range map[string]int32{"ws": 620, "http": 30} {
		t.Run(scheme, func(t *testing.T) {
			var n atomic.Int32
			handler := func(w http.ResponseWriter, r *http.Request) {
				if !websocket.IsWebSocketUpgrade(r) {
					n.Add(1)
					_, _ = w.Write(body)
					return
				}
				upgraded(func(conn *websocket.Conn) {
					for {
						if _, _, err := conn.ReadMessage(); err != nil {
							return
						}
						n.Add(1)
						_ = conn.WriteMessage(websocket.BinaryMessage, body)
					}
				})(w, r)
			}
			inBubble(t, scheme, handler, func(t *testing.T, _ *causal.Controller, _ *log) {
				time.Sleep(time.Minute)
				if got := n.Load(); got > most || got < 20 {
					t.Errorf("%d messages in a minute, want at most %d", got, most)
				}
			})
		})
	}
}

// What is not for us, or is not a message, is no answer; a plan that is in force outlives it only
// by its lease.
func TestNotAnAnswer(t *testing.T) {
	say := func(kind int, body []byte) func(conn *websocket.Conn) {
		return func(conn *websocket.Conn) { _ = conn.WriteMessage(kind, body); drain(conn) }
	}
	binary := func(body []byte) func(conn *websocket.Conn) { return say(websocket.BinaryMessage, body) }
	largest := config("1", naming.OpAMPPlan, strings.Repeat("#", 128<<10))
	for _, tt := range []struct {
		name string
		say  func(conn *websocket.Conn)
		want string
	}{
		{"text", say(websocket.TextMessage, []byte("{}")), "message of type 1: must be 2, binary"},
		{"not protobuf", binary([]byte("<html>")), "message of 6 bytes: must be a ServerToAgent"},
		{"for another", binary(frame(t, &protobufs.ServerToAgent{InstanceUid: []byte("another")})), "message for instance 616e6f74686572: must be for"},
		{"too large", binary(frame(t, &protobufs.ServerToAgent{RemoteConfig: largest})), "websocket: read limit exceeded"},
		{"closed", func(conn *websocket.Conn) { _, _, _ = conn.ReadMessage() }, "unexpected EOF"},
		{"closed for a reason", func(conn *websocket.Conn) {
			_, _, _ = conn.ReadMessage()
			_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.ClosePolicyViolation, "not on the list"), time.Now().Add(time.Second))
			drain(conn)
		}, "websocket: close 1008 (policy violation): not on the list"},
		{"not a WebSocket", nil, "answer 200 OK: must be 101"},
		{"redirect", nil, "answer 302 Found: must be 101"},
		{"no handshake", nil, "websocket: bad handshake"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			handler := func(w http.ResponseWriter, r *http.Request) {
				switch tt.name {
				case "not a WebSocket":
					fmt.Fprint(w, "hello")
				case "redirect":
					http.Redirect(w, r, "/other", http.StatusFound)
				case "no handshake":
					if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
						defer conn.Close()
						_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: another\r\n\r\n")
					}
				default:
					upgraded(func(conn *websocket.Conn) { tt.say(conn) })(w, r)
				}
			}
			inBubble(t, "ws", handler, func(t *testing.T, c *causal.Controller, l *log) {
				time.Sleep(5 * time.Minute)
				if n := l.count(tt.want); n != 1 {
					t.Errorf("the logger was told %q, want %q once", l.lines, tt.want)
				}
				if s := c.Status(); s.State != causal.StateIdle {
					t.Errorf("Status() = %s, want idle", s.State)
				}
			})
		})
	}
}

// hijacked answers the handshake and has the bare connection.
func hijacked(header string, f func(conn net.Conn) int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s",
			acceptKey(r.Header.Get("Sec-WebSocket-Key")), header)
		f(conn)
	}
}

// head is that of a frame with a payload of n bytes.
func head(first byte, n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{first, 127}, n) }

// A message of any size costs the same memory. Not parallel: it measures the process.
func TestMemory(t *testing.T) {
	const size, most = 200 << 20, 1 << 20
	var bomb bytes.Buffer // 200 MiB as one compressed message
	z, err := flate.NewWriter(&bomb, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	remotetest.Flood(z, size)
	if err := z.Flush(); err != nil {
		t.Fatal(err)
	}
	const end = "\r\n"
	for name, handler := range map[string]func(written chan<- int) http.HandlerFunc{
		"http/body": func(written chan<- int) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { written <- remotetest.Flood(w, size) }
		},
		"ws/message": func(written chan<- int) http.HandlerFunc {
			return hijacked(end, func(conn net.Conn) int {
				_, _ = conn.Write(head(0x82, size))
				n := remotetest.Flood(conn, size)
				written <- n
				return n
			})
		},
		"ws/fragments": func(written chan<- int) http.HandlerFunc {
			return hijacked(end, func(conn net.Conn) (n int) {
				for first := byte(0x02); n < size; first = 0 { // to be continued
					_, _ = conn.Write(head(first, 32<<10))
					k := remotetest.Flood(conn, 32<<10)
					if n += k; k < 32<<10 {
						break
					}
				}
				written <- n
				return n
			})
		},
		"ws/compressed": func(written chan<- int) http.HandlerFunc {
			return hijacked("Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"+end, func(conn net.Conn) int {
				_, _ = conn.Write(head(0xc2, uint64(bomb.Len())))
				n, _ := conn.Write(bomb.Bytes())
				written <- n
				return n
			})
		},
		"ws/handshake": func(written chan<- int) http.HandlerFunc {
			return hijacked("Large: ", func(conn net.Conn) int {
				n := remotetest.Flood(conn, size)
				written <- n
				return n
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			written := make(chan int, 10)
			server := httptest.NewServer(handler(written))
			defer server.Close()
			scheme, _, _ := strings.Cut(name, "/")
			client := newClient(t, scheme+strings.TrimPrefix(server.URL, "http"), remote.WithInterval(time.Minute))
			c, l := remotetest.Controller(t), newLog()
			n := 0
			allocated := remotetest.Allocated(func() {
				stop := remotetest.Follow(t, c, client, l.option())
				n = <-written
				remotetest.Await(t, "the server is given up", func() bool { return l.count("") > 0 })
				stop()
			})
			t.Logf("%d bytes allocated, client and server together, of %d that were sent of %d: %s", allocated, n, size, l.lines[0])
			if allocated > most {
				t.Errorf("%d bytes allocated, want at most %d", allocated, most)
			}
		})
	}
}

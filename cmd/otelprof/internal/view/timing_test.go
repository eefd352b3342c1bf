package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/saved"
	"github.com/otelprof/otelprof/viewer"
)

// load makes the lines of sessions that are 200 spans long, one line at a time.
type load struct {
	sessions, spans int
	made            int
	line            bytes.Buffer
}

func (l *load) Read(b []byte) (int, error) {
	if l.line.Len() == 0 {
		if l.made == l.sessions {
			return 0, io.EOF
		}
		l.session()
	}
	return l.line.Read(b)
}

func (l *load) session() {
	l.made++
	start := int64(1_700_000_000_000_000_000) + int64(l.made)*10_000_000
	l.line.WriteString(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"shop","version":"1"},"spans":[`)
	for i := range l.spans {
		parent, name, from, to := "", "POST /orders", start, start+8_000_000
		if i > 0 {
			parent = fmt.Sprintf(`"parentSpanId":"%016x",`, l.made<<16|((i-1)/8+1))
			name = fmt.Sprintf("step %d", i%20)
			from, to = start+int64(i)*30_000, start+int64(i)*30_000+20_000+int64(l.made%100)*100
			l.line.WriteByte(',')
		}
		fmt.Fprintf(&l.line, `{"traceId":"%032x","spanId":"%016x",%s"flags":257,"name":%q,"kind":1,"startTimeUnixNano":"%d","endTimeUnixNano":"%d",`+
			`"attributes":[{"key":"db.query.text","value":{"stringValue":"SELECT stock FROM products WHERE id = ?"}},{"key":"rows","value":{"intValue":"%d"}}],"status":{}}`,
			l.made, l.made<<16|(i+1), parent, name, from, to, i)
	}
	l.line.WriteString("]}]}]}\n")
}

// BenchmarkView reads sessions of 200 spans and asks the viewer for what the page asks for. It
// prints the median and the worst of a hundred answers.
func BenchmarkView(b *testing.B) {
	for _, sessions := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			for b.Loop() {
				viewLoad(b, sessions)
			}
		})
	}
}

func viewLoad(b *testing.B, sessions int) {
	r, err := saved.NewReader()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := r.Read(context.Background(), "traces.jsonl", &load{sessions: sessions, spans: 200}); err != nil {
		b.Fatal(err)
	}
	d := r.Data()
	took := time.Since(began)
	if d.Sessions != sessions {
		b.Fatalf("%d sessions, want %d", d.Sessions, sessions)
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(took.Seconds(), "s/read")
	b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "MiB")

	h, err := newSavedViewer(savedData{Data: d}, nil)
	if err != nil {
		b.Fatal(err)
	}
	server, err := viewer.NewServer("127.0.0.1:0", h)
	if err != nil {
		b.Fatal(err)
	}
	defer server.Shutdown(context.Background())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	get := func(path string) (body []byte, took time.Duration) {
		began := time.Now()
		response, err := client.Get(server.URL() + path)
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		if body, err = io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
			b.Fatalf("%s: %s, %v", path, response.Status, err)
		}
		return body, time.Since(began)
	}
	var list struct {
		Sessions []struct {
			ID string `json:"id"`
		} `json:"sessions"`
	}
	body, _ := get("api/v1/sessions?limit=100")
	if err := json.Unmarshal(body, &list); err != nil {
		b.Fatal(err)
	}
	for _, q := range []struct{ name, path string }{
		{"list", "api/v1/sessions?limit=100"},
		{"worst", "api/v1/sessions?limit=100&sort=worst"},
		{"named", "api/v1/sessions?limit=100&name=nothing"},
		{"tree", "api/v1/sessions/" + list.Sessions[0].ID},
		{"regions", "api/v1/regions"},
	} {
		var all []time.Duration
		for range 100 {
			_, took := get(q.path)
			all = append(all, took)
		}
		slices.Sort(all)
		b.ReportMetric(float64(all[50])/1e6, q.name+"-ms-p50")
		b.ReportMetric(float64(all[99])/1e6, q.name+"-ms-max")
	}
}

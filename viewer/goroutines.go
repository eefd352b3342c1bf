package viewer

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/otelprof/otelprof/internal/stacks/goroutines"
	"github.com/otelprof/otelprof/spans/stacks"
)

// An answer stands for goroutinesAge, and for goroutinesRest times as long as the look took: of
// 100,000 goroutines that is some seconds of one processor.
const (
	goroutinesAge  = time.Second
	goroutinesRest = 10
)

// A goroutineLook is where the goroutines were at a moment, or why that is not known.
type goroutineLook struct {
	at   time.Time
	dump *goroutines.Dump
	err  error
}

// lookAt looks at the goroutines now. That it could not is an answer, which stands too.
func lookAt(look func() (*goroutines.Dump, error)) goroutineLook {
	dump, err := look()
	return goroutineLook{time.Now(), dump, err}
}

// goroutinesJSON answers GET /api/v1/goroutines?format=json.
type goroutinesJSON struct {
	At     time.Time            `json:"at"`
	Count  int                  `json:"count"`
	Groups []goroutineGroupJSON `json:"groups"` // by reason, those of most goroutines first
}

type goroutineGroupJSON struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	// Tree has a sample for each goroutine.
	Tree *stacks.Tree `json:"tree"`
}

func newGoroutinesJSON(look goroutineLook) goroutinesJSON {
	out := goroutinesJSON{At: look.at.UTC(), Count: look.dump.Count, Groups: []goroutineGroupJSON{}}
	for _, g := range look.dump.Groups {
		out.Groups = append(out.Groups, goroutineGroupJSON{g.Reason, g.Count, g.Tree})
	}
	return out
}

// allGoroutines answers GET /api/v1/goroutines?least=1&format=text: where all goroutines of this
// process are, merged by what they wait for. JSON has all of them.
func (h *Handler) allGoroutines(w http.ResponseWriter, r *http.Request) {
	if h.saved {
		writeError(w, http.StatusNotFound, "goroutines: the program must run: this is saved data")
		return
	}
	query := r.URL.Query()
	format := query.Get("format")
	if format != "" && format != "text" && format != "json" {
		writeError(w, http.StatusBadRequest, "format %q: must be text or json", format)
		return
	}
	least := 1
	if s := query.Get("least"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || format == "json" {
			writeError(w, http.StatusBadRequest, "least %q: must be an integer of 1 or more, with format text", s)
			return
		}
		least = n
	}
	look, _ := h.goroutines.get(goroutinesAge, goroutinesRest, func() (goroutineLook, error) { return lookAt(goroutines.Now), nil })
	switch {
	case look.err != nil:
		writeError(w, http.StatusServiceUnavailable, "%s", look.err)
	case format == "json":
		writeJSON(w, http.StatusOK, newGoroutinesJSON(look))
	default:
		render(w, "goroutines.txt", "text/plain; charset=utf-8", func(w io.Writer) error { return look.dump.WriteText(w, least) })
	}
}

package whatif

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// asked are questions about the program built in another way.
type asked struct {
	questions []replay.Question
	together  []string // regions that are faster at once
	slower    string
}

const questionHelp = `
Traces, and programs that run, also tell what would be if the program were built in another way: by -procs, -free, -split, -capacity,
-workers, -together and -slower. Locks and channels are named by where goroutines wait for them, as function, function:line or
file.go:line, in which * stands for any characters.
`

// questionFlags are the flags of the questions.
func (w *whatif) questionFlags() {
	add := func(name, usage string, read func(string) (replay.Question, error)) {
		w.Func(name, usage, func(text string) error {
			q, err := read(text)
			w.asked.questions = append(w.asked.questions, q)
			return err
		})
	}
	add("procs", "`number` of processors to ask about", func(text string) (replay.Question, error) {
		n, err := positive(text, 1, 4096)
		return replay.Question{Procs: n}, err
	})
	add("free", "`lock` to ask about as if nothing waited for it", func(text string) (replay.Question, error) {
		return replay.Question{Free: text}, nonempty(text)
	})
	add("split", "`lock=n` to ask about as if it were n locks", func(text string) (replay.Question, error) {
		name, n, err := named(text, 2, 4096)
		return replay.Question{Split: name, Number: n}, err
	})
	add("capacity", "`channel=n` to ask about with room for n elements", func(text string) (replay.Question, error) {
		name, n, err := named(text, 0, 1<<30)
		return replay.Question{Capacity: name, Number: n}, err
	})
	add("workers", "`channel=n` to ask about with n goroutines that work on its elements", func(text string) (replay.Question, error) {
		name, n, err := named(text, 1, 4096)
		return replay.Question{Workers: name, Number: n}, err
	})
	w.Func("together", "`region,region` to ask about as faster at once, by each of the speed-ups, or 25 and 50 %", func(text string) error {
		w.asked.together = strings.Split(text, ",")
		if slices.Contains(w.asked.together, "") || len(w.asked.together) < 2 {
			return fmt.Errorf("%q: must be two regions or more", text)
		}
		return nil
	})
	w.StringVar(&w.asked.slower, "slower", "", "`region` to ask about as slower, by each of the speed-ups, or 25 and 50 %")
}

func nonempty(text string) error {
	if text == "" {
		return fmt.Errorf("%q: must not be empty", text)
	}
	return nil
}

func positive(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: must be an integer in [%d, %d]", text, least, most)
	}
	return n, nil
}

// named reads NAME=n.
func named(text string, least, most int) (string, int, error) {
	i := strings.LastIndexByte(text, '=')
	if i <= 0 {
		return "", 0, fmt.Errorf("%q: must be NAME=n", text)
	}
	n, err := positive(text[i+1:], least, most)
	return text[:i], n, err
}

// all returns the questions, those about regions with the scopes that these have in a recording.
func (a asked) all(rec *trace.Recording, speedups []float64) ([]replay.Question, error) {
	if len(speedups) == 0 {
		speedups = []float64{0.25, 0.5}
	}
	questions := a.questions
	for _, by := range speedups {
		q, err := speedupsOf(rec, a.together, by)
		if err != nil {
			return nil, err
		}
		if a.slower != "" {
			s, err := speedupsOf(rec, []string{a.slower}, -by)
			if err != nil {
				return nil, err
			}
			questions = append(questions, s)
		}
		if len(q.Faster) > 0 {
			questions = append(questions, q)
		}
	}
	return questions, nil
}

func speedupsOf(rec *trace.Recording, names []string, by float64) (q replay.Question, err error) {
	for _, name := range names {
		i := slices.IndexFunc(rec.Regions, func(r trace.Region) bool { return r.Name == name })
		if i < 0 {
			return q, fmt.Errorf("region %q: must be one of %s", name, some(regionNames(rec)))
		}
		q.Faster = append(q.Faster, replay.Speedup{Region: rec.Regions[i], By: by})
	}
	return q, nil
}

// any reports whether something is asked.
func (a asked) any() bool { return len(a.questions) > 0 || len(a.together) > 0 || a.slower != "" }

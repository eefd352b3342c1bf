package top

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The terminal's words: see ECMA-48. The other screen keeps what the user had before him. All lines
// of a frame are written over the last one, so that nothing flickers.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[2J"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	bold        = "\x1b[1m"
	red         = "\x1b[31m"
	plain       = "\x1b[0m"
)

// A topScreen is what the user sees and has chosen.
type topScreen struct {
	url      string
	interval time.Duration
	sort     string
	window   topWindow
	filter   string
	rows     int // 0 for as many as fit
	colour   bool
	held     bool
	typing   bool // the filter

	history topHistory
	err     error
	lost    time.Time
}

// take takes a poll. After one that failed, what was there before stays.
func (s *topScreen) take(p topPoll) {
	switch {
	case p.err != nil:
		if s.err == nil {
			s.lost = time.Now()
		}
		s.err = p.err
	case s.held:
		s.err = nil
	default:
		s.err = nil
		s.history.add(p)
	}
}

// table is the last poll in the window that is chosen, and how long that is; 0 since the start.
func (s *topScreen) table() (rows []topRow, length time.Duration) {
	n := len(s.history)
	if n == 0 {
		return nil, 0
	}
	last, from := s.history[n-1], s.history.before(s.window.length)
	rated := from
	if from.at.IsZero() && n > 1 {
		rated = s.history[n-2]
	}
	if !from.at.IsZero() {
		length = last.at.Sub(from.at)
	}
	return last.rows(from, rated), length
}

// press reports whether a key ends the program. In raw mode Ctrl-C is one of them.
func (s *topScreen) press(key byte) (done bool) {
	if s.typing && key != 3 {
		s.write(key)
		return false
	}
	step := func(by int) {
		i := slices.Index(topSorts, s.sort)
		s.sort = topSorts[(i+by+len(topSorts))%len(topSorts)]
	}
	switch key {
	case 'q', 'Q', 3, 4:
		return true
	case 's':
		step(1)
	case 'r':
		step(-1)
	case 'w':
		s.window = topWindows[(slices.Index(topWindows, s.window)+1)%len(topWindows)]
	case '/':
		s.typing = true
	case 27: // Esc
		s.filter = ""
	case ' ':
		s.held = !s.held
	}
	return false
}

// write edits the filter: Enter leaves it, Esc empties it.
func (s *topScreen) write(key byte) {
	switch key {
	case '\r', '\n':
		s.typing = false
	case 27:
		s.typing, s.filter = false, ""
	case 8, 127: // backspace
		_, size := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-size]
	default:
		if key >= ' ' {
			s.filter += string([]byte{key}) // the bytes of a letter come one by one
		}
	}
}

// head is the first line: where from, what of it, and how it is.
func (s *topScreen) head(shown, all int, length time.Duration) (text, style string) {
	switch { // what is wrong comes first: a narrow terminal has no room for more
	case s.err != nil && len(s.history) == 0:
		return fmt.Sprintf("no connection: %v; trying again  %s", s.err, s.url), red
	case s.err != nil:
		return fmt.Sprintf("connection lost %v ago: %v; trying again  %s", time.Since(s.lost).Round(time.Second), s.err, s.url), red
	}
	state := fmt.Sprintf("every %v", s.interval)
	if s.held {
		state = "held, space goes on"
	}
	regions := fmt.Sprintf("%d regions", all)
	if s.filter != "" || s.typing {
		regions = fmt.Sprintf("%d of %s with /%s", shown, regions, s.filter)
	}
	window := "since the start"
	if length > 0 {
		window = fmt.Sprintf("last %v", length.Round(100*time.Millisecond))
		if length < s.window.length {
			window += fmt.Sprintf(" of %v", s.window.length)
		}
	}
	return fmt.Sprintf("%s  %s  %s  %s", s.url, regions, window, state), bold
}

// foot is the last line: the keys, and the error bound.
func (s *topScreen) foot(length time.Duration) string {
	if s.typing {
		return "filter: /" + s.filter + "_  Enter keeps it, Esc shows all"
	}
	bound := 0.0
	if n := len(s.history); n > 0 {
		bound = s.history[n-1].RelativeError
	}
	if length > 0 {
		bound += coarseError
	}
	return fmt.Sprintf("q quits, s and r sort, w window, / filters, space holds; percentiles within %.1g %%", 100*bound)
}

// draw returns one frame.
func (s *topScreen) draw(width, height int) string {
	width = max(1, width-1) // behind the last column clearLine would take what stands in it
	rows, length := s.table()
	t := topTable{rows: rows, sort: s.sort, filter: s.filter}
	if t.most = height - 3; s.rows > 0 { // the two lines above the rows, and the one below
		t.most = min(t.most, s.rows)
	}
	t.most = max(1, t.most)
	head, style := s.head(len(t.shown()), len(rows), length)
	var b strings.Builder
	b.WriteString(homeCursor)
	line := func(text, style string) {
		text = cut(printable(text), width)
		if s.colour && style != "" {
			text = style + text + plain
		}
		b.WriteString(text + clearLine)
	}
	line(head, style)
	if height > 2 {
		for i, text := range t.lines(width) {
			b.WriteString("\r\n")
			style := ""
			if i == 0 {
				style = bold
			}
			line(text, style)
		}
	}
	b.WriteString(clearBelow)
	if height > 3 {
		fmt.Fprintf(&b, "\x1b[%d;1H", height)
		line(s.foot(length), "")
	}
	return b.String()
}

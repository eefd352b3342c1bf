package doctor

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Escape sequences of terminals.
const (
	bold   = "\x1b[1m"
	faint  = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

var colours = map[Status]string{StatusOK: green, StatusLimited: yellow, StatusMissing: red, StatusUntried: faint, StatusOff: red}

// WriteTable writes the report for people: the verdict, the machine, and a line for each check with
// its remedies below. With colour, for terminals, it has escape sequences.
func (r Report) WriteTable(w io.Writer, colour bool) error {
	var b bytes.Buffer
	paint := func(code, text string) string {
		if !colour || text == "" {
			return text
		}
		return code + text + plain
	}
	fmt.Fprintf(&b, "per-span counters: %s\n%s\n", paint(bold, r.Verdict), paint(faint, r.Machine.String()))
	for _, checks := range [][]Check{r.Abilities, r.Conditions} {
		if len(checks) > 0 {
			b.WriteByte('\n')
		}
		for _, c := range checks {
			// Escape sequences have no width: what is painted is padded first.
			fmt.Fprintf(&b, "%s  %-19s  %s\n", paint(colours[c.Status], fmt.Sprintf("%-7s", c.Status)), c.Name, c.Detail)
			for _, m := range c.Remedies {
				fmt.Fprintf(&b, "         %s  %s\n", paint(faint, fmt.Sprintf("  %-17s", m.Where)), m.Grant)
				if m.Note != "" {
					fmt.Fprintf(&b, "%30s%s\n", "", paint(faint, "("+m.Note+")"))
				}
			}
		}
	}
	r.appendCounts(&b, paint)
	_, err := w.Write(b.Bytes())
	return err
}

// appendCounts writes a line for each known count.
func (r Report) appendCounts(b *bytes.Buffer, paint func(code, text string) string) {
	if len(r.Counts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", paint(faint, fmt.Sprintf("%-7s  %-19s  %-19s  %10s  %10s  %s", "", "work, for a round", "event", "counted", "user reads", "expected")))
	number := func(f *float64) string {
		if f == nil {
			return "-"
		}
		return fmt.Sprintf("%.2f", *f)
	}
	for _, k := range r.Counts {
		expected := fmt.Sprintf("%.2f to %.2f", k.Least, k.Most)
		if k.Detail != "" {
			expected = k.Detail
		}
		fmt.Fprintf(b, "%s  %-19s  %-19s  %10s  %10s  %s\n", paint(colours[k.Status], fmt.Sprintf("%-7s", k.Status)), k.Work, k.Event,
			number(k.Counted), number(k.CountedInUser), expected)
	}
}

// String describes the machine in a line.
func (m Machine) String() string {
	parts := []string{strings.TrimSpace(m.OS + "/" + m.Arch + " " + m.Kernel)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if m.Virtual {
		add("virtual machine")
	}
	if m.Product != "" {
		add("%s", m.Product)
	}
	switch m.Container {
	case "":
	case "container":
		add("in a container")
	default:
		add("in a %s container", m.Container)
	}
	if m.UID != nil {
		add("uid %d", *m.UID)
	}
	if m.UserNamespace {
		add("user namespace")
	}
	if m.CapPerfmon {
		add("CAP_PERFMON")
	}
	if m.CapSysAdmin {
		add("CAP_SYS_ADMIN")
	}
	add("%d CPUs", m.CPUs)
	return strings.Join(parts, ", ")
}

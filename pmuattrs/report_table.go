package pmuattrs

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

var colours = map[Status]string{StatusOK: green, StatusLimited: yellow, StatusMissing: red, StatusUntried: faint}

// WriteTable writes the report for people: the verdict, the machine, and a line for each check with its remedies
// below. With colour, for terminals, it has escape sequences.
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
	_, err := w.Write(b.Bytes())
	return err
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

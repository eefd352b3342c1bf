package stacks

import (
	"fmt"
	"os"
	"strings"
)

// An Origin is of which process a recording is. What is not known is left empty.
type Origin struct {
	Service string // service.name, see [WithService]
	Host    string // what the process takes the machine's name for: in a container, that of the container or pod
	PID     int    // in the process's own namespace
}

// thisProcess is the origin of what is recorded in the calling process.
func thisProcess(service string) Origin {
	host, _ := os.Hostname() // there is none, then
	return Origin{Service: service, Host: host, PID: os.Getpid()}
}

// String is empty for an origin of which nothing is known, and else "shop (PID 4711 on web-1)",
// without what is not known.
func (o Origin) String() string {
	var process string
	if o.PID > 0 {
		process = fmt.Sprintf("PID %d", o.PID)
	}
	if o.Host != "" {
		process = strings.TrimSpace(process + " on " + o.Host)
	}
	switch {
	case o.Service == "":
		return process
	case process == "":
		return o.Service
	default:
		return fmt.Sprintf("%s (%s)", o.Service, process)
	}
}

// originComments are the comments of a profile that say its origin.
func originComments(o Origin) []string {
	if o == (Origin{}) {
		return nil
	}
	return []string{fmt.Sprintf("%s%d %q %q", processComment, o.PID, o.Host, o.Service)}
}

// originOf reads the comments of a profile. One that was merged of several processes has no origin.
func originOf(comments []string) (o Origin) {
	known := false
	for _, c := range comments {
		rest, ok := strings.CutPrefix(c, processComment)
		if !ok {
			continue
		}
		var one Origin
		n, err := fmt.Sscanf(rest, "%d %q %q", &one.PID, &one.Host, &one.Service)
		if err != nil || n != 3 || one.PID < 0 || known && one != o {
			return Origin{}
		}
		o, known = one, true
	}
	return o
}

package overlay

import (
	"fmt"
	"slices"
	"strings"
)

// flags are the flags of a go command that runtime mode reads or changes, and the rest.
type flags struct {
	dir      string // of -C
	tags     []string
	overlay  string
	compiler string // looked at only, and among the rest too
	rest     []string
}

// withValue are the flags of go build and go test whose value may be the next argument. It must not
// be taken for a flag.
var withValue = strings.Fields(`
	C asmflags buildmode compiler covermode coverpkg debug-actiongraph debug-runtime-trace debug-trace exec gccgoflags gcflags
	installsuffix ldflags mod modfile o overlay p pgo pkgdir tags toolexec
	bench benchtime blockprofile blockprofilerate count coverprofile cpu cpuprofile fuzz
	fuzzminimizetime fuzztime list memprofile memprofilerate mutexprofile mutexprofilefraction outputdir parallel
	run shuffle skip timeout trace vet`)

// withoutValue are the others. A flag that is in neither list is one of the test's own.
var withoutValue = strings.Fields(`
	a artifacts asan benchmem buildvcs c cover failfast fullpath json linkshared modcacherw msan n race short trimpath v
	work x`)

// parse reads the arguments of go build, run, test or install, and the value of GOFLAGS, which
// counts for flags that are not among them.
func parse(verb string, args []string, goflags string) (flags, error) {
	var f flags
	fromEnv, err := split(goflags)
	if err != nil {
		return f, fmt.Errorf("overlay: GOFLAGS %q: %w", goflags, err)
	}
	for _, arg := range fromEnv {
		name, value, _ := cut(arg)
		f.take(name, value)
	}
	// The first word that is no flag ends the flags, but that of go test begins a list of packages,
	// and flags may follow that.
	listed, listing := verb != "test", false
	ownBefore := false // a flag of the test's own, whose value may be next
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, value, given := cut(arg)
		short := strings.TrimPrefix(name, "test.") // -test.run is -run
		wantsValue := slices.Contains(withValue, short)
		known := wantsValue || slices.Contains(withoutValue, short)
		switch {
		case arg == "--", verb == "test" && name == "args" && !given:
			f.rest = append(f.rest, args[i:]...)
			return f, f.check()
		case name == "" && listed && !listing && !ownBefore:
			if verb == "test" { // only a flag that is not there any more may have kept it apart from the packages
				f.rest = append(f.rest, "-args")
			}
			f.rest = append(f.rest, args[i:]...)
			return f, f.check()
		case name == "":
			listed, listing = true, listing || !listed
			f.rest = append(f.rest, arg)
		case given || !wantsValue || i+1 == len(args): // a missing value is the go command's error
			if !given || !f.take(name, value) {
				f.rest = append(f.rest, arg)
			}
			listed, listing = listed || !known, false
		default:
			i++
			if !f.take(name, args[i]) {
				f.rest = append(f.rest, arg, args[i])
			}
			listing = false
		}
		ownBefore = verb == "test" && name != "" && !given && !known
	}
	return f, f.check()
}

// cut returns the name of a flag, "" if it is none, and its value, if it is given with it.
func cut(arg string) (name, value string, given bool) {
	if len(arg) < 2 || arg[0] != '-' {
		return "", "", false
	}
	name, value, given = strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	if strings.HasPrefix(name, "-") {
		return "", "", false
	}
	return name, value, given
}

// check refuses what cannot be built.
func (f *flags) check() error {
	if f.compiler != "" && f.compiler != "gc" {
		return fmt.Errorf("overlay: -compiler %s: must be gc, whose package runtime is the one that is known", f.compiler)
	}
	return nil
}

// take keeps a flag, and reports whether it is one to keep.
func (f *flags) take(name, value string) bool {
	switch name {
	case "C":
		f.dir = value
	case "tags":
		f.tags = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	case "overlay":
		f.overlay = value
	case "compiler":
		f.compiler = value
		return false
	default:
		return false
	}
	return true
}

// split takes apart the value of GOFLAGS: flags are separated by space, and in quotes if they
// hold one.
func split(text string) ([]string, error) {
	var all []string
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return all, nil
		}
		if q := text[0]; q == '\'' || q == '"' {
			end := strings.IndexByte(text[1:], q)
			if end < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			all, text = append(all, text[1:1+end]), text[end+2:]
			continue
		}
		end := strings.IndexAny(text, " \t\r\n")
		if end < 0 {
			end = len(text)
		}
		all, text = append(all, text[:end]), text[end:]
	}
}

// join returns the arguments with an overlay and a tag more. -C has to be the first.
func (f flags) join(verb, document string) []string {
	args := []string{verb}
	if f.dir != "" {
		args = append(args, "-C", f.dir)
	}
	tags := f.tags
	if !slices.Contains(tags, buildTag) {
		tags = append(slices.Clip(tags), buildTag)
	}
	return append(append(args, "-overlay", document, "-tags", strings.Join(tags, ",")), f.rest...)
}

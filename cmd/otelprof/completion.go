package main

import (
	"fmt"
	"strings"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

var completionCommand = &command.Command{
	Name:  "completion",
	Args:  "bash|zsh|fish",
	Short: "Print a script that completes commands and flags in a shell",
	Long: `
    source <(otelprof completion bash)      # or zsh; in ~/.bashrc or ~/.zshrc
    otelprof completion fish | source       # in ~/.config/fish/config.fish

Flags are asked for when they are completed, by -h.
`,
	Run: func(c *command.Call) error {
		if err := c.ParseArgs(1, 1); err != nil {
			return err
		}
		script, known := completions[c.Arg(0)]
		if !known {
			return command.Usagef("shell %q: must be bash, zsh or fish", c.Arg(0))
		}
		_, err := fmt.Fprint(c.Stdout, strings.NewReplacer("@verbs@", names(root.Sub), "@subs@", subCommands()).Replace(script))
		return err
	},
}

func init() { root.Sub = append(root.Sub, completionCommand) } // which lists all of them

func names(all []*command.Command) string {
	list := make([]string, len(all))
	for i, c := range all {
		list[i] = c.Name
	}
	return strings.Join(list, " ")
}

// subCommands are cases of a shell: the commands that have others below them.
func subCommands() string {
	var cases strings.Builder
	for _, c := range root.Sub {
		if len(c.Sub) > 0 {
			fmt.Fprintf(&cases, "    %s) subs=%q ;;\n", c.Name, names(c.Sub))
		}
	}
	return cases.String()
}

const bash = `_otelprof() {
  local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} subs= at=2
  case $verb in
@subs@  esac
  [ -n "$subs" ] && at=3
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "@verbs@" -- "$cur"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$subs" ]; then
    COMPREPLY=($(compgen -W "$subs" -- "$cur"))
  elif [ "${cur:0:1}" = - ]; then
    COMPREPLY=($(compgen -W "$("${COMP_WORDS[@]:0:at}" -h 2>/dev/null | sed -n 's/^  \(-[a-z0-9-]*\).*/\1/p')" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _otelprof otelprof
`

var completions = map[string]string{
	"bash": bash,
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\n" + bash,
	"fish": `function __otelprof_flags
  set -l words (commandline -opc)
  for n in 3 2
    test (count $words) -ge $n; and $words[1..$n] -h 2>/dev/null | string match -rg '^  (-[a-z0-9-]+)'; and return
  end
end
function __otelprof_subs
  set -l words (commandline -opc)
  test (count $words) -eq 2; and $words help 2>/dev/null | string match -rg '^  ([a-z]+)  '
end
complete -c otelprof -n 'test (count (commandline -opc)) -eq 1' -f -a '@verbs@'
complete -c otelprof -f -a '(__otelprof_subs)'
complete -c otelprof -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__otelprof_flags)'
`,
}

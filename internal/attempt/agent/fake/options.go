package fake

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// options holds the parsed arguments. gaffer passes the same arguments to the fake agent as to the
// real programs; the fake agent ignores most of them.
type options struct {
	help     bool
	protocol string
	server   bool   // imitate codex app-server
	thread   string // id of the conversation to begin or resume
	resume   bool
	// prompt is the prompt if given is set. Then it comes from the arguments, or from a file that
	// they name. If given is not set, the prompt is read from stdin.
	prompt string
	given  bool
	replay bool    // print each message that is passed to the model, as Claude Code does
	most   float64 // cost limit in US dollars; 0 means no limit
	// scripts is the path of a file with the steps of each task. If it is empty, the steps are in
	// the prompt.
	scripts string
}

// flagsWithValue returns flags of the real programs that the fake agent ignores together with the
// value that follows each of them.
func flagsWithValue() []string {
	return []string{
		"--input-format", "--output-format", "--permission-prompt-tool", "--model", "-m", "--disable", "-c", "--sandbox", "-s",
		"--permission-mode", "--settings", "--resume-session-at",
	}
}

func parseOptions(args []string) (options, error) {
	o := options{protocol: "plain"}
	for i := 0; i < len(args); i++ {
		value := func() string {
			if i++; i < len(args) {
				return args[i]
			}
			return ""
		}
		switch a := args[i]; {
		case a == "-h" || a == "--help":
			o.help = true
		case a == "--protocol":
			o.protocol = value()
		case strings.HasPrefix(a, "--protocol="):
			o.protocol = strings.TrimPrefix(a, "--protocol=")
		case a == "--session-id":
			o.thread = value()
		case a == "--resume" || a == "resume" && o.protocol == "codex":
			o.thread, o.resume = value(), true
		case a == "fork" && o.protocol == "codex":
			o.resume, o.thread = true, "" // the copied conversation gets a new id
			value()
		case a == "--replay-user-messages":
			o.replay = true
		case a == "app-server":
			o.server = true
		case a == "--prompt-file":
			text, err := os.ReadFile(value())
			if err != nil {
				return o, err
			}
			o.prompt, o.given = string(text), true
		case a == "--max-budget-usd":
			o.most, _ = strconv.ParseFloat(value(), 64)
			if !(o.most > 0) {
				return o, fmt.Errorf("%s: want a number above 0", a)
			}
		case a == "--scripts":
			o.scripts = value()
		case a == "--":
			o.prompt, o.given = strings.Join(args[i+1:], " "), true
			i = len(args)
		case slices.Contains(flagsWithValue(), a):
			value()
		case a == "--allowedTools" || a == "--disallowedTools":
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
		case o.protocol == "plain" && !strings.HasPrefix(a, "-"):
			o.prompt, o.given = strings.Join(args[i:], " "), true
			i = len(args)
		}
	}
	if !slices.Contains([]string{"claude", "codex", "plain"}, o.protocol) {
		return o, fmt.Errorf("protocol %q is not known, want claude, codex or plain", o.protocol)
	}
	return o, nil
}

func newProtocol(o options, w *stdio) protocol {
	switch {
	case o.protocol == "claude":
		return &claude{stdio: w, options: o, stdinQueue: newStdinQueue(), seen: map[string]bool{}}
	case o.protocol == "codex" && o.server:
		return &server{stdio: w, options: o, stdinQueue: newStdinQueue()}
	case o.protocol == "codex":
		return &codex{stdio: w, options: o}
	}
	return &plain{stdio: w, options: o}
}

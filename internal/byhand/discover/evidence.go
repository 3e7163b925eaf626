package discover

import (
	"strings"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

// Evidence is all information that gaffer has found about one agent at one moment.
type Evidence struct {
	Program string
	Process host.Process
	Alive   host.Liveness
	Stopped bool          // a signal has stopped the process, for example after Ctrl-Z
	Age     time.Duration // age of the process; 0 if unknown
	Dir     string        // working directory of the process
	Pane    string        // id of the tmux pane, such as %3; empty if it is unknown

	File    *SessionFile        // Claude's session file for the process; nil if there is none
	Hook    *hookevents.Session // session according to the hooks; nil if they have reported none
	Title   *Title              // title of the agent's pane; nil if it was not read
	Rollout *Rollout            // state according to Codex's log; nil if no log was found
	Screen  string              // text of the agent's pane; empty if it was not read
}

// SessionFile is the content of the session file that Claude Code writes for each of its processes.
type SessionFile struct {
	Session string
	Dir     string
	Status  string    // idle, busy or waiting; empty if the agent is not interactive
	Since   time.Time // when the status began
	For     string    // what the agent waits for; empty if it does not wait
	Start   uint64    // start time of the agent's process; 0 if the file does not have it
}

// Title is the title of an agent's tmux pane.
type Title struct {
	Text string
	Host string // name of the machine, which tmux uses as the default title
}

// Rollout is the state of a Codex thread. It is read from the last part of the thread's log.
type Rollout struct {
	Thread  string
	Status  hookevents.Status // idle or running, empty if unknown
	Since   time.Time
	Error   string
	Tokens  int64 // number of tokens of the context that are used
	Context int64 // size of the whole context, in tokens
}

// Agent is an agent program that the user has started without gaffer, and what is known of its
// state.
type Agent struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Program string            `json:"program"`
	Session string            `json:"session,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	PID     int               `json:"pid,omitempty"`
	Pane    string            `json:"pane,omitempty"` // id of the tmux pane
	Model   string            `json:"model,omitempty"`
	Status  hookevents.Status `json:"status"`
	Source  Source            `json:"source"`
	Since   time.Time         `json:"since,omitzero"`
	For     string            `json:"for,omitempty"` // what the agent waits for; empty if it does not wait
	Error   string            `json:"error,omitempty"`
	Doing   string            `json:"doing,omitempty"`   // the agent's last tool call or message
	Loop    string            `json:"loop,omitempty"`    // the repeated action; empty if the agent is not in a loop
	Context float64           `json:"context,omitempty"` // used part of the context, in percent
	CostUSD float64           `json:"cost_usd,omitempty"`
}

// hasSpinner reports whether a title begins with a spinner character, which programs show
// while they work.
func hasSpinner(title string) bool {
	for _, r := range title {
		return r >= 0x2801 && r <= 0x28ff
	}
	return false
}

// status returns the status that a title of Codex or Gemini CLI shows. It returns false if the
// title shows none, and for other programs.
func (t *Title) status(program, dir string) (hookevents.Status, bool) {
	if t == nil {
		return "", false
	}
	text := strings.TrimSpace(t.Text)
	switch program {
	case agentproc.Codex:
		return t.codexStatus(text, dir)
	case agentproc.Gemini:
		return t.geminiStatus(text)
	}
	return "", false
}

// codexStatus parses Codex's title. While Codex is idle, the title is the name of the folder. While
// Codex runs, a spinner comes before the name. While Codex waits for the user, a blinking sign in
// brackets and "Action Required" come before the name.
func (t *Title) codexStatus(text, dir string) (hookevents.Status, bool) {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		if _, rest, ok = strings.Cut(rest, "]"); ok && strings.HasPrefix(strings.TrimSpace(rest), "Action Required") {
			return hookevents.Waiting, true
		}
	}
	switch {
	case hasSpinner(text):
		return hookevents.Running, true
	case text != "" && text == base(dir):
		return hookevents.Idle, true
	}
	return "", false
}

func (t *Title) geminiStatus(text string) (hookevents.Status, bool) {
	for sign, status := range map[string]hookevents.Status{"◇": hookevents.Idle, "✦": hookevents.Running, "✋": hookevents.Waiting, "⏲": hookevents.Running} {
		if strings.HasPrefix(text, sign) {
			return status, true
		}
	}
	return "", false
}

// claudeStatus reports whether Claude is working at the moment, according to the title. If ok is
// true and running is false, Claude is idle or waits for the user. If ok is false, the title does
// not show whether Claude is working.
func (t *Title) claudeStatus() (running, ok bool) {
	if t == nil {
		return false, false
	}
	text := strings.TrimSpace(t.Text)
	return hasSpinner(text), hasSpinner(text) || strings.HasPrefix(text, "✳")
}

func base(dir string) string { return dir[strings.LastIndexByte(dir, '/')+1:] }

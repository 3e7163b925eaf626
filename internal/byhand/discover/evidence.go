package discover

import (
	"strings"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

// Evidence is all that was found about one agent at one moment.
type Evidence struct {
	Program string
	Process host.Process
	Alive   host.Liveness
	Stopped bool          // by a signal, such as Ctrl-Z
	Age     time.Duration // of the process, 0 if it is not known
	Dir     string        // where it works
	Pane    string        // of tmux, such as %3

	File    *Note               // Claude's note of its process
	Hook    *hookevents.Session // what its hooks have said
	Title   *Title              // of its pane
	Rollout *Rollout            // Codex's record of its thread
	Screen  string              // what is in its pane, if nothing better speaks
}

// Note is what Claude Code writes about each of its processes while it is used by
// a person.
type Note struct {
	Session string
	Dir     string
	Status  string    // idle, busy or waiting; empty if it is not used by a person
	Since   time.Time // of the status
	For     string    // what it waits for
	Start   uint64    // of its process, 0 if it does not say
}

// Title is what a terminal is called.
type Title struct {
	Text string
	Host string // what it is called if nobody has said otherwise
}

// Rollout is what the record of a Codex thread says at its end.
type Rollout struct {
	Thread  string
	Status  hookevents.Status // idle or running, empty if it is not told
	Since   time.Time
	Error   string
	Tokens  int64 // in the context
	Context int64 // how many it can hold
}

// Sighting is an agent that a person has started, and what it does.
type Sighting struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Program string            `json:"program"`
	Session string            `json:"session,omitempty"`
	Dir     string            `json:"dir,omitempty"`
	PID     int               `json:"pid,omitempty"`
	Pane    string            `json:"pane,omitempty"` // of tmux
	Model   string            `json:"model,omitempty"`
	Status  hookevents.Status `json:"status"`
	Source  Source            `json:"source"`
	Since   time.Time         `json:"since,omitzero"`
	For     string            `json:"for,omitempty"` // what it waits for
	Error   string            `json:"error,omitempty"`
	Loop    string            `json:"loop,omitempty"`    // what it does again and again
	Context float64           `json:"context,omitempty"` // how full its context is, in percent
	CostUSD float64           `json:"cost_usd,omitempty"`
}

// spinner tells whether a title begins with one of the signs that programs turn
// while they work.
func spinner(title string) bool {
	for _, r := range title {
		return r >= 0x2801 && r <= 0x28ff
	}
	return false
}

// read gives the status that a title tells, if it tells one.
func (t *Title) read(program, dir string) (hookevents.Status, bool) {
	if t == nil {
		return "", false
	}
	text := strings.TrimSpace(t.Text)
	switch program {
	case agentproc.Codex:
		return t.codex(text, dir)
	case agentproc.Gemini:
		return t.gemini(text)
	}
	return "", false
}

// codex is the sign of what goes on and the name of the folder. The sign of
// waiting blinks.
func (t *Title) codex(text, dir string) (hookevents.Status, bool) {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		if _, rest, ok = strings.Cut(rest, "]"); ok && strings.HasPrefix(strings.TrimSpace(rest), "Action Required") {
			return hookevents.Waiting, true
		}
	}
	switch {
	case spinner(text):
		return hookevents.Running, true
	case text != "" && text == base(dir):
		return hookevents.Idle, true
	}
	return "", false
}

func (t *Title) gemini(text string) (hookevents.Status, bool) {
	for sign, status := range map[string]hookevents.Status{"◇": hookevents.Idle, "✦": hookevents.Running, "✋": hookevents.Waiting, "⏲": hookevents.Running} {
		if strings.HasPrefix(text, sign) {
			return status, true
		}
	}
	return "", false
}

// claude tells running from not running, and no more than that.
func (t *Title) claude() (running, ok bool) {
	if t == nil {
		return false, false
	}
	text := strings.TrimSpace(t.Text)
	return spinner(text), spinner(text) || strings.HasPrefix(text, "✳")
}

func base(dir string) string { return dir[strings.LastIndexByte(dir, '/')+1:] }

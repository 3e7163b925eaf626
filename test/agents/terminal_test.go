package agents

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gaffer/internal/byhand/discover"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/testkit/testenv"
)

// terminal is an agent that a user runs in a terminal, with gaffer's hooks.
type terminal struct {
	*environment
	program string
	pid     int
	finder  *discover.Finder
	id      string // id of the agent in gaffer's list of workers
}

// claudeHooks returns settings that make Claude Code call gaffer's hook for all
// events.
func claudeHooks() string {
	hooks := map[string]any{}
	for _, name := range strings.Fields("SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PermissionRequest Notification Stop StopFailure SubagentStart SubagentStop PreCompact SessionEnd") {
		hooks[name] = []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "gaffer hook claude", "timeout": 700}}}}
	}
	return encode(map[string]any{"hooks": hooks})
}

// codexHooks returns arguments that make Codex call gaffer's hook for all events.
func codexHooks() (args []string) {
	for _, name := range strings.Fields("SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse Stop Interrupt SessionEnd") {
		args = append(args, "-c", fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command="gaffer hook codex",timeout=700}]}]`, name))
	}
	return append(args, "--dangerously-bypass-hook-trust")
}

// open starts an agent program in a terminal, with gaffer's hooks.
func (p *environment) open(program string, more ...string) *terminal {
	p.Helper()
	args := []string{filepath.Join(programs, program)}
	if program == "claude" {
		p.write(filepath.Join(p.home, "hooks.json"), claudeHooks())
		args = append(args, "--settings", filepath.Join(p.home, "hooks.json"))
	} else {
		args = append(append(args, "--no-daemon", "--disable", "plugins"), codexHooks()...)
	}
	return p.openAs(program, append(args, more...)...)
}

// openAs starts a program in a terminal, with the given arguments.
func (p *environment) openAs(program string, args ...string) *terminal {
	p.Helper()
	words := []string{"exec"}
	for _, a := range args {
		words = append(words, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	p.write(filepath.Join(p.home, "open.sh"), strings.Join(words, " ")+"\n")
	var out string
	var err error
	// A tmux server that is about to end, because its last terminal was closed, accepts no session.
	p.until("tmux has a server", func() bool {
		out, err = p.newSession()
		return err == nil || !strings.Contains(out, "server exited") && !strings.Contains(out, "lost server")
	})
	if err != nil {
		p.Fatalf("tmux: %v\n%s", err, out)
	}
	t := &terminal{environment: p, program: program}
	t.pid, err = strconv.Atoi(strings.TrimSpace(out))
	p.must(err)
	t.finder = discover.NewFinder(filepath.Join(p.home, ".local/state/gaffer"), p.home, time.Now)
	p.Cleanup(func() {
		if p.Failed() {
			p.Logf("the screen at the end:\n%s", t.screen())
		}
	})
	return t
}

// newSession starts open.sh in a new terminal and prints its process id.
func (p *environment) newSession() (string, error) {
	return p.tmux("new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", "person", "-x", "120", "-y", "40", "-c", p.dir, "sh "+filepath.Join(p.home, "open.sh"))
}

// keys types keys into the terminal, in tmux's notation, such as "Enter".
func (t *terminal) keys(keys ...string) {
	t.Helper()
	if out, err := t.tmux(append([]string{"send-keys", "-t", "person"}, keys...)...); err != nil {
		t.Fatalf("send-keys: %v\n%s", err, out)
	}
}

// say types a line, waits until it is shown, and presses Enter. It first deletes what is there, such
// as a prompt that Esc has taken back.
func (t *terminal) say(text string) {
	t.Helper()
	t.keys("C-u")
	t.keys("-l", text)
	t.until("the line is typed", t.shows(text))
	t.keys("Enter")
}

func (t *terminal) screen() string {
	out, _ := t.tmux("capture-pane", "-p", "-t", "person") // ignore the error: the terminal may be gone
	return out
}

// shows returns a condition that is true when the screen shows a text.
func (t *terminal) shows(text string) func() bool {
	return func() bool { return strings.Contains(t.screen(), text) }
}

// pressing returns a condition that is true when done returns true. Until then it presses the key
// every ten seconds, because a program that has just begun to work may lose a key.
func (t *terminal) pressing(key string, done func() bool) func() bool {
	var last time.Time
	return func() bool {
		if done() {
			return true
		}
		if last.IsZero() {
			last = time.Now()
		}
		if time.Since(last) > 10*time.Second {
			t.keys(key)
			last = time.Now()
		}
		return false
	}
}

// asked returns a condition that is true when the model has received n more requests than now.
func (t *terminal) asked(n int) func() bool {
	before := len(t.turns())
	return func() bool { return len(t.turns()) >= before+n }
}

// made returns a condition that is true when a tool call, which the user has permitted, has created
// a file.
func (t *terminal) made(file string) func() bool { return func() bool { return t.has(file) } }

// look returns what gaffer's process detection finds about this agent.
func (t *terminal) look() (discover.Agent, bool) {
	t.Helper()
	list, err := t.finder.Find(t.Context())
	t.must(err)
	for _, s := range list {
		if s.PID == t.pid {
			return s, true
		}
	}
	return discover.Agent{}, false
}

// point is a moment of a session: the condition that begins it, and what gaffer must then show.
type point struct {
	name   string
	do     func()
	truth  func() bool
	status hookevents.Status
	source discover.Source
	hook   bool // gaffer would show the same from the hooks alone
	also   func(discover.Agent) bool
}

// passes waits for each of the points in order. It returns how long gaffer took to show each.
func (t *terminal) passes(points []point) (delays []time.Duration) {
	t.Helper()
	for _, pt := range points {
		if pt.do != nil {
			pt.do()
		}
		t.until(pt.name+" is so", pt.truth)
		delays = append(delays, t.seen(pt))
	}
	return delays
}

// seen waits until gaffer shows the state of a point, and knows it from the expected source. It
// returns how long that took.
func (t *terminal) seen(pt point) time.Duration {
	t.Helper()
	var s discover.Agent
	began := time.Now()
	testenv.Wait(t, fmt.Sprintf("%s: %s by %s", pt.name, pt.status, pt.source), func() error {
		s, _ = t.look()
		if s.Status == pt.status && s.Source == pt.source && (pt.also == nil || pt.also(s)) {
			return nil
		}
		return errors.New(encode(s))
	})
	took := time.Since(began)
	if t.id == "" {
		t.id = s.ID
	}
	if s.ID != t.id {
		t.Errorf("%s: another worker: %s, before %s", pt.name, s.ID, t.id)
	}
	if pt.hook {
		doc := hookevents.NewFolder(filepath.Join(t.home, ".local/state/gaffer"))
		t.until("the hooks report "+pt.name, func() bool { return doc.Load(t.program, s.Session).Status == pt.status })
	}
	t.Logf("%-7s %-36s %-7s %-13s %6.0f ms  %s %s", t.program, pt.name, s.Status, s.Source, float64(took)/1e6, s.For, s.Error)
	return took
}

// summarize logs the median and the maximum of the delays.
func summarize(t *testing.T, delays []time.Duration) {
	t.Helper()
	list := slices.Sorted(slices.Values(delays))
	t.Logf("%d points: p50 %.0f ms, max %.0f ms after they were so (aim: 1000)", len(list), float64(list[len(list)/2])/1e6, float64(list[len(list)-1])/1e6)
}

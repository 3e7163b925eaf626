package agents

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/byhand/discover"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/testkit/testenv"
)

const (
	idle    = hookevents.Idle
	running = hookevents.Running
	waiting = hookevents.Waiting
)

// work is a shell command for a tool call that runs until the file over exists, so that the test
// has time to look at gaffer.
const work = "touch begun; until [ -e over ]; do sleep 0.1; done; rm begun over"

// notSeen returns a condition that is true when the text is no longer on the screen.
func (t *terminal) notSeen(text string) func() bool {
	return func() bool { return !strings.Contains(t.screen(), text) }
}

func TestWhatClaudeDoesInATerminalIsKnown(t *testing.T) {
	p := newEnvironment(t)
	p.seedClaude()
	c := p.open("claude")
	const file = discover.FromFile
	const prompt, interrupted = "Do you want to proceed?", "Interrupted"
	// Until Claude Code has shown a part of the answer, Esc takes the prompt back into the input.
	stopped := func() bool {
		screen := c.screen()
		return strings.Contains(screen, interrupted) || strings.Contains(screen, "─\n❯\u00a0say one")
	}
	session := ""
	var asked, again func() bool
	next := func(text string, modes ...string) func() {
		return func() { c.play(modes...); asked, again = c.asked(1), c.asked(2); c.say(text) }
	}
	delays := c.passes([]point{
		{"it has started", nil, c.shows("for shortcuts"), idle, file, true, func(s discover.Agent) bool { session = s.Session; return session != "" }},
		{"the model has begun its answer", next("say one", "hangmid"), c.shows("●"), running, file, true, nil},
		{"Esc while the model thinks", func() { c.keys("Escape") }, c.pressing("Escape", stopped), idle, file, false, nil},
		{"a permission is asked for", next("say two", "tool:"+work), c.shows(prompt), waiting, file, true, func(s discover.Agent) bool { return strings.HasPrefix(s.For, "Bash: touch begun") }},
		{"it is given, the tool runs", func() { c.keys("Enter") }, c.made("begun"), running, file, false, nil},
		{"the turn is over", func() { c.write("over", "") }, c.shows("Done. The tool ran."), idle, file, true, nil},
		{"a permission is asked for again", next("say three", "tool:touch never"), c.shows(prompt), waiting, file, true, nil},
		{"Esc at the prompt", func() { c.keys("Escape") }, c.notSeen(prompt), idle, file, false, nil},
		{"a question is asked", next("say four", "ask"), c.shows("Which colour?"), waiting, file, true, nil},
		{"the question is answered", func() { c.keys("Enter") }, c.notSeen("Enter to select"), idle, file, true, nil},
		{"the model fails", next("say five", "400"), c.shows("API Error"), idle, file, true, func(s discover.Agent) bool { return s.Error != "" }},
		{"the model is overloaded and asked again", next("say six", "529once", "hangmid"), func() bool { return again() }, running, file, true, func(s discover.Agent) bool { return s.Error == "" }},
		{"Esc while it tries again", func() { c.keys("Escape") }, c.notSeen("esc to interrupt"), idle, file, false, nil},
		{"/clear", func() { c.say("/clear") }, c.notSeen("say six"), idle, file, true, func(s discover.Agent) bool { return s.Session != session }},
		{"a turn after it", next("say seven", "slow"), func() bool { return asked() }, running, file, true, nil},
		{"its end", nil, c.shows("word8"), idle, file, true, nil},
	})
	c.ends()
	summarize(t, delays)
}

// ends kills the agent and waits until gaffer no longer finds it.
func (t *terminal) ends() {
	t.Helper()
	testenv.Signal(t, t.pid, syscall.SIGKILL)
	t.until("it is not seen any more", func() bool { _, ok := t.look(); return !ok })
}

func TestWhatCodexDoesInATerminalIsKnown(t *testing.T) {
	p := newEnvironment(t)
	c := p.open("codex")
	const title = discover.FromTitle
	const prompt, interrupted = "Would you like to run the following command?", "Conversation interrupted"
	var asked func() bool
	next := func(text string, modes ...string) func() {
		return func() { c.play(modes...); asked = c.asked(1); c.say(text) }
	}
	delays := c.passes([]point{
		{"it has started", nil, c.shows("for shortcuts"), idle, title, false, nil},
		{"the model is asked", next("say one", "hang"), func() bool { return asked() }, running, title, true, nil},
		{"Esc while the model thinks", func() { c.keys("Escape") }, c.pressing("Escape", c.shows(interrupted)), idle, title, true, nil},
		{"a permission is asked for", next("say two", "toolx:"+work), c.shows(prompt), waiting, title, true, func(s discover.Agent) bool { return strings.HasPrefix(s.For, "Bash: touch begun") }},
		{"it is given, the tool runs", func() { c.keys("y") }, c.made("begun"), running, title, false, nil},
		{"the turn is over", func() { c.write("over", "") }, c.shows("Done. The tool ran."), idle, title, true, nil},
		{"a permission is asked for again", next("say three", "toolx:touch never"), c.shows(prompt), waiting, title, true, nil},
		{"Esc at the prompt", func() { c.keys("Escape") }, c.notSeen(prompt), idle, title, true, nil},
		{"the model fails", next("say four", "400"), c.shows("■ "), idle, title, false, func(s discover.Agent) bool { return s.Error != "" }},
		{"a turn after it", next("say five", "slow"), func() bool { return asked() }, running, title, true, func(s discover.Agent) bool { return s.Error == "" }},
		{"its end", nil, c.shows("word8"), idle, title, true, nil},
		{"another turn", next("say six", "hang"), func() bool { return asked() }, running, title, true, nil},
		{"Esc in it", func() { c.keys("Escape") }, c.notSeen("esc to interrupt"), idle, title, true, nil},
	})
	c.ends()
	summarize(t, delays)
}

func TestAProgramThatMustBeSetUpIsShownAsWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		open func(p *environment) *terminal
		want string
	}{
		"claude in a strange folder": {func(p *environment) *terminal {
			p.write(p.home+"/.claude.json", `{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["`+key+`"]}}`)
			return p.open("claude")
		}, "trust the folder"},
		"codex in a strange folder": {func(p *environment) *terminal {
			p.write(p.home+"/.codex/config.toml", strings.Split(p.codexConfig(), "[projects")[0])
			return p.open("codex")
		}, "trust the folder"},
		"codex with strange hooks": {func(p *environment) *terminal {
			args := append([]string{programs + "/codex", "--no-daemon", "--disable", "plugins"}, codexHooks()...)
			return p.openAs("codex", args[:len(args)-1]...)
		}, "review the hooks"},
	} {
		t.Run(name, func(t *testing.T) {
			term := c.open(newEnvironment(t))
			term.seen(point{name: name, status: waiting, source: discover.FromScreen, also: func(s discover.Agent) bool {
				return s.For == "needs set-up: "+c.want
			}})
			term.ends()
		})
	}
}

func TestTheUserAnswersElsewhereForAnAgentInATerminal(t *testing.T) {
	for program, mode := range map[string]string{"claude": "tool:touch granted", "codex": "toolx:touch granted"} {
		t.Run(program, func(t *testing.T) {
			p := newEnvironment(t)
			p.seedClaude()
			p.env = append(p.env, "GAFFER_HOOKS_ANSWER_WITHIN=10m")
			c := p.open(program)
			c.play(mode)
			c.ready()
			c.say("do it")
			c.answer("Allow", nil)
			c.until("the tool has run", c.made("granted"))
			c.until("the model has said so", c.shows("Done. The tool ran."))
			c.seen(point{name: "the turn is over", status: idle, source: c.best()}) // Codex may lose what it is told just before the end of a turn

			c.play(strings.Replace(mode, "granted", "denied", 1))
			c.say("do more")
			c.answer("", []string{"--deny", "not now"})
			c.seen(point{name: "it was denied", status: idle, source: c.best()})
			if c.has("denied") {
				t.Error("what was denied was done")
			}
			if program == "claude" {
				c.play("ask")
				c.say("ask me")
				c.answer("Blue", nil)
				c.until("the question is answered", c.shows("Blue"))
				c.seen(point{name: "it was answered", status: idle, source: c.best()})
			}

			c.play(strings.Replace(mode, "granted", "never", 1))
			c.say("do less")
			c.until("the user is asked elsewhere", c.asks)
			c.keys("Escape")
			c.until("the user is not asked any more", func() bool { return !c.asks() })
			c.seen(point{name: "Esc while the user is asked elsewhere", status: idle, source: c.best()})
			c.ends()
		})
	}
}

func (t *terminal) best() discover.Source {
	if t.program == "claude" {
		return discover.FromFile
	}
	return discover.FromTitle
}

func (t *terminal) ready() { t.seen(point{name: "it has started", status: idle, source: t.best()}) }

// asks reports whether gaffer shows a question of the agent.
func (t *terminal) asks() bool {
	return t.gaffer("answer", fmt.Sprintf("%s-%d", t.program, t.pid)).code == 0
}

// answer answers the agent's question with 'gaffer answer', as a user would from another terminal.
func (t *terminal) answer(text string, flags []string) {
	t.Helper()
	args := []string{"answer", fmt.Sprintf("%s-%d", t.program, t.pid)}
	if text != "" {
		args = append(args, text)
	}
	args = append(args, flags...)
	testenv.Wait(t, fmt.Sprintf("gaffer %q", args), func() error {
		if last := t.gaffer(slices.Clone(args)...); last.code != 0 {
			return fmt.Errorf("exit %d\n%s%s", last.code, last.out, last.errors)
		}
		return nil
	})
}

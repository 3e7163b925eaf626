package agents

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/test/stubmodel"
)

// each runs a test with Claude Code and with Codex.
func each(t *testing.T, test func(p *environment, agent string)) {
	t.Helper()
	for _, agent := range []string{"claude", "codex"} {
		t.Run(agent, func(t *testing.T) { test(newEnvironment(t), agent) })
	}
}

// plan writes a plan with one task, called work, and returns the path of its file. fields are more
// fields of the task, in YAML.
func (p *environment) plan(agent, fields string) string {
	p.Helper()
	p.write("plan.yaml", fmt.Sprintf("tasks:\n  - {id: work, agent: %s, prompt: do the work, %s}\n", agent, fields))
	return "plan.yaml"
}

// came checks how a task ended, and that no process of it is left.
func (p *environment) came(task fleet.Task, status fleet.Status, class string) {
	p.Helper()
	a := task.Attempt
	p.Logf("%s %s, tries %d, exit %d, %d tokens, $%f: %s", task.Status, task.Outcome, task.Tries, a.Exit, a.Spent.Tokens, a.Spent.USD, a.Summary)
	if task.Status != status || task.Outcome != class || a.Class != class {
		p.Errorf("want %s %q:\n%s", status, class, encode(task))
	}
	p.nothingLeft()
}

func TestAnAnswerIsTheOutcome(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.done("run", "say hello", "--agent", agent)
		task := p.ended()
		p.came(task, fleet.Complete, "")
		a := task.Attempt
		if !strings.Contains(a.Summary, stubmodel.Text) {
			p.Errorf("the summary is not the model's text:\n%s", encode(task))
		}
		if a.Spent.Tokens != stubmodel.InputTokens+stubmodel.OutputTokens {
			p.Errorf("spent %+v, want the model's %d+%d tokens", a.Spent, stubmodel.InputTokens, stubmodel.OutputTokens)
		}
		if (a.Spent.USD > 0) != (agent == "claude") {
			p.Errorf("spent %+v: only claude reports the cost", a.Spent)
		}
		if a.Thread == "" {
			p.Errorf("the conversation is not known:\n%s", encode(task))
		}
		if first := p.turns()[0]; !strings.Contains(string(first.Body), "say hello") {
			p.Errorf("the model was not given the prompt:\n%s", first.Body)
		}
	})
}

func TestAToolDoesItsWork(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("tool:echo made by a tool")
		p.done("run", p.plan(agent, "questions: deny"))
		task := p.ended()
		p.came(task, fleet.Complete, "")
		turns := p.turns()
		if len(turns) != 2 || !strings.Contains(string(turns[1].Body), "made by a tool") {
			p.Errorf("%d turns, want the tool's output in the second", len(turns))
		}
		if got := task.Attempt.Spent.Tokens; got != 2*(stubmodel.InputTokens+stubmodel.OutputTokens) {
			p.Errorf("spent %d tokens, want those of two turns", got)
		}
		log, err := os.ReadFile(task.Attempt.Log)
		if err != nil || !strings.Contains(string(log), "made by a tool") {
			p.Errorf("the log has not what the tool printed: %v\n%s", err, log)
		}
	})
}

func TestAFileIsWrittenWhereItIsAllowed(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("write:" + p.path("page.txt"))
		p.done("run", p.plan(agent, "questions: allow, verify: grep hi page.txt"))
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if len(task.Attempt.Checks) != 1 || !task.Attempt.Checks[0].OK {
			p.Errorf("the check:\n%s", encode(task.Attempt))
		}
	})
}

// Sub-agents cost money too, so their usage must be counted.
func TestWhatSubAgentsUseIsCounted(t *testing.T) {
	p := newEnvironment(t)
	p.play("task")
	p.done("run", p.plan("claude", "questions: allow"))
	task := p.ended()
	p.came(task, fleet.Complete, "")
	var asked int64
	for _, r := range model.Requests(p.name) {
		if r.Mode != "" {
			asked++
		}
	}
	if got := task.Attempt.Spent.Tokens; asked < 3 || got != asked*(stubmodel.InputTokens+stubmodel.OutputTokens) {
		p.Errorf("spent %d tokens in %d requests, want those of all", got, asked)
	}
}

// An agent program asks at its first start in a folder whether the user trusts it. Under gaffer it
// must work without that.
func TestAFolderThatWasNeverTrustedIsWorkedIn(t *testing.T) {
	each(t, func(p *environment, agent string) {
		config, _, _ := strings.Cut(p.codexConfig(), "[projects")
		p.write(p.home+"/.codex/config.toml", config)
		p.play("write:" + p.path("page.txt"))
		p.must(os.RemoveAll(p.path(".git")))
		p.must(os.Mkdir(p.path(".fctry"), 0o755)) // this folder marks the root of a project
		run := p.start("run", p.plan(agent, "questions: ask"))
		if agent == "claude" {
			p.asks("page.txt")
			p.done("answer", "work", "allow")
		}
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Complete, "")
		if p.read("page.txt") != "hi\n" {
			p.Errorf("page.txt has %q", p.read("page.txt"))
		}
	})
}

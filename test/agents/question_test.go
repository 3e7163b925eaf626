package agents

import (
	"slices"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/test/stubmodel"
)

// asks waits until the agent waits for the user, checks how gaffer shows that, and returns the
// question.
func (p *environment) asks(about string) fleet.Question {
	p.Helper()
	task := p.task("it waits for the user", func(t fleet.Task) bool {
		return t.Question != nil && t.Attempt.State == "waiting"
	})
	if !strings.Contains(task.Question.Text, about) {
		p.Errorf("the question is %q, want something about %q", task.Question.Text, about)
	}
	if task.Attempt.Source == "" || task.Attempt.Said.IsZero() {
		p.Errorf("who says that it waits, and since when:\n%s", encode(task.Attempt))
	}
	return *task.Question
}

func TestTheUserGrantsAPermission(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:touch granted")
		run := p.start("run", p.plan(agent, "questions: ask"))
		if q := p.asks("touch granted"); !slices.Equal(q.Options, []string{"allow", "deny"}) {
			p.Errorf("options %q", q.Options)
		}
		if p.has("granted") {
			p.Error("it was done before the user allowed it")
		}
		p.done("answer", "work", "allow")
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Complete, "")
		if !p.has("granted") {
			p.Error("it was allowed and not done")
		}
	})
}

func TestADeniedActionIsNotDone(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:touch refused")
		run := p.start("run", p.plan(agent, "questions: ask, retries: 2"))
		p.asks("touch refused")
		p.done("answer", "work", "--deny", "not on a Sunday")
		if o := run.wait(); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Failed, "denied")
		if p.has("refused") || task.Tries != 1 {
			p.Errorf("done: %v; tries: %d", p.has("refused"), task.Tries)
		}
		if !strings.Contains(task.Attempt.Summary, "touch refused") {
			p.Errorf("what was denied is not said: %q", task.Attempt.Summary)
		}
		if last := p.turns()[len(p.turns())-1]; agent == "claude" && !strings.Contains(string(last.Body), "not on a Sunday") {
			p.Errorf("the model did not get the reason:\n%s", last.Body)
		}
	})
}

func TestWithQuestionsDenyTheUserIsNotAsked(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:touch refused")
		if o := p.gaffer("run", p.plan(agent, "questions: deny, retries: 2")); o.code != 1 {
			p.Errorf("exit %d, want 1\n%s", o.code, o.errors)
		}
		task := p.ended()
		p.came(task, fleet.Failed, "denied")
		if p.has("refused") || task.Tries != 1 {
			p.Errorf("done: %v; tries: %d", p.has("refused"), task.Tries)
		}
	})
}

func TestAQuestionIsAnsweredWithAnOption(t *testing.T) {
	wantAnswer := map[string]string{
		"claude": `\"` + stubmodel.Question + `\"=\"Blue\"`,
		"codex":  `[\"Blue\"]`,
	}
	each(t, func(p *environment, agent string) {
		// Enable the tool for questions, which Codex does not have by default.
		p.write("gaffer.yaml", "agents:\n  codex:\n    argv: [codex, --enable, default_mode_request_user_input]\n")
		p.play("ask")
		run := p.start("run", p.plan(agent, "questions: ask"))
		q := p.asks(stubmodel.Question)
		if !slices.Equal(q.Options, stubmodel.Colours()) {
			p.Errorf("options %q, want %q", q.Options, stubmodel.Colours())
		}
		p.done("answer", "work", "--option", "2")
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		p.came(p.ended(), fleet.Complete, "")
		if last := p.turns()[len(p.turns())-1]; !strings.Contains(string(last.Body), wantAnswer[agent]) {
			p.Errorf("the model did not get the answer:\n%s", last.Body)
		}
	})
}

// The question is in the store and the agent keeps running. So the user can answer even if the
// gaffer process that asked is dead.
func TestAQuestionOutlivesAKilledGaffer(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:echo x >> granted")
		run := p.start("run", p.plan(agent, "questions: ask"))
		p.asks("granted")
		run.kill()
		p.done("answer", "work", "allow")
		p.done("resume")
		task := p.ended()
		p.came(task, fleet.Complete, "")
		if task.Tries != 1 || p.times("granted") != 1 {
			p.Errorf("%d tries; done %d times", task.Tries, p.times("granted"))
		}
	})
}

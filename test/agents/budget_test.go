package agents

import (
	"strings"
	"testing"

	"gaffer/fleet"
)

func TestABudgetStopsAnAgentInItsTurnAndMoreContinuesIt(t *testing.T) {
	each(t, func(p *environment, agent string) {
		budget, more, text := "usd: 0.002", []string{"--budget", "1"}, "of $0.0020"
		if agent == "codex" { // it reports no money
			budget, more, text = "tokens: 300", []string{"--tokens", "100000"}, "of 300 tokens"
		}
		p.play("loop:echo line >> kept")
		if o := p.gaffer("run", p.plan(agent, "questions: allow, budget: {"+budget+"}")); o.code != 1 || !strings.Contains(o.out, "gaffer retry") {
			p.Errorf("exit %d\n%s", o.code, o.out)
		}
		task := p.ended()
		p.came(task, fleet.Failed, "budget")
		if !strings.Contains(task.Attempt.Summary, text) || task.Attempt.Thread == "" {
			p.Errorf("want %q and a conversation:\n%s", text, encode(task))
		}
		lines := strings.Count(p.read("kept"), "line")
		if turns := len(p.turns()); lines < 1 || lines > turns || turns > 12 {
			p.Errorf("%d lines were written in %d requests", lines, turns)
		}

		p.play("text:finished")
		p.done(append([]string{"retry", "work", "--resume"}, more...)...)
		again := p.ended()
		p.came(again, fleet.Complete, "")
		if again.Tries != 2 || again.Attempt.Thread != task.Attempt.Thread || strings.Count(p.read("kept"), "line") != lines {
			p.Errorf("it did not go on:\n%s", encode(again))
		}
		if last := p.turns()[len(p.turns())-1]; !strings.Contains(string(last.Body), "There is more now") || !strings.Contains(string(last.Body), "echo line") {
			p.Errorf("the model was not given the conversation:\n%s", last.Body)
		}
	})
}

func TestTheCostOfClaudeIsKnownInTheMiddleOfItsTurn(t *testing.T) {
	p := newEnvironment(t)
	p.play("tool:"+held, "text:done")
	run := p.start("run", p.plan("claude", "questions: allow, budget: {usd: 5}"))
	p.until("the tool has begun", func() bool { return p.has("begun") })
	p.task("its cost is seen", func(t fleet.Task) bool { return t.Attempt.Spent.USD > 0 && t.Status == fleet.Running })
	p.write("go", "")
	if o := run.wait(); o.code != 0 {
		p.Errorf("exit %d\n%s", o.code, o.errors)
	}
	p.came(p.ended(), fleet.Complete, "")
}

package agents

import (
	"fmt"
	"strings"
	"testing"

	"gaffer/fleet"
)

// Two agents ask for the same at once, and a third one asks later. The user answers once, for the run.
func TestAPermissionForTheRunIsAskedForOnce(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:touch granted")
		p.write("plan.yaml", fmt.Sprintf(`
defaults: {agent: %s, questions: ask, retries: 2}
tasks:
  - {id: one, prompt: do the work}
  - {id: two, prompt: do the work}
  - {id: later, prompt: do the work, after: [one, two]}
`, agent))
		run := p.start("run", "plan.yaml")
		p.until("both wait for the user", func() bool {
			waiting := 0
			for _, t := range p.status().Tasks {
				if t.Question != nil {
					waiting++
				}
			}
			return waiting == 2
		})
		p.done("answer", "one", "allow", "--for", "run")
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		for _, task := range p.status().Tasks {
			if task.Status != fleet.Complete {
				p.Errorf("%s is %s:\n%s", task.ID, task.Status, encode(task))
			}
		}
		if !p.has("granted") || p.has(".claude") {
			p.Errorf("done: %v; the program has written settings: %v", p.has("granted"), p.has(".claude"))
		}
	})
}

func TestARuleAllowsACommandWithoutAQuestion(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.play("toolx:touch allowed")
		o := p.gaffer("run", p.plan(agent, `questions: rules, permissions: {allow: "Bash(touch:*)"}`))
		if o.code != 0 || !p.has("allowed") {
			p.Errorf("exit %d, done: %v\n%s", o.code, p.has("allowed"), o.errors)
		}
		p.came(p.ended(), fleet.Complete, "")
	})
}

func TestOnlyRulesDecideIfNobodyIsThere(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.defaultSandbox()
		p.play("toolx:touch refused")
		o := p.gaffer("run", p.plan(agent, `questions: rules, permissions: {allow: "Bash(go test:*)"}`))
		if o.code != 1 || p.has("refused") {
			p.Errorf("exit %d, done: %v\n%s", o.code, p.has("refused"), o.errors)
		}
		p.came(p.ended(), fleet.Failed, "denied")
		if last := p.turns()[len(p.turns())-1]; agent == "claude" && !strings.Contains(string(last.Body), "no rule allows it") {
			p.Errorf("the model did not get the reason:\n%s", last.Body)
		}
	})
}

// With questions: allow, the programs would run each command without a question.
func TestADeniedCommandIsNotRunThoughEverythingElseIsAllowed(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.defaultSandbox()
		p.play("toolx:mkdir -p x && touch refused")
		o := p.gaffer("run", p.plan(agent, `questions: allow, permissions: {deny: "Bash(touch:*)"}`))
		if p.has("refused") {
			p.Error("it was done")
		}
		if task := p.ended(); o.code != 1 || task.Status != fleet.Failed {
			p.Errorf("exit %d\n%s\n%s", o.code, o.errors, encode(task))
		}
		if len(p.turns()) == 0 {
			p.Fatalf("the model got no request\n%s", o.errors)
		}
		if last := p.turns()[len(p.turns())-1]; agent == "claude" && !strings.Contains(string(last.Body), "Bash(touch:*)") && !strings.Contains(string(last.Body), "enied") {
			p.Errorf("the model did not get the reason:\n%s", last.Body)
		}
		p.play("toolx:touch allowed")
		if o := p.gaffer("run", p.plan(agent, `questions: allow, permissions: {deny: "Bash(rm:*)"}`)); o.code != 0 || !p.has("allowed") {
			p.Errorf("exit %d, done: %v\n%s", o.code, p.has("allowed"), o.errors)
		}
	})
}

package agents

import (
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/test/stubmodel"
)

// each runs a test with both programs.
func each(t *testing.T, test func(p *place, agent string)) {
	t.Helper()
	for _, agent := range []string{"claude", "codex"} {
		t.Run(agent, func(t *testing.T) { test(newPlace(t), agent) })
	}
}

func TestAnAnswerIsTheOutcome(t *testing.T) {
	each(t, func(p *place, agent string) {
		p.done("run", "say hello", "--agent", agent)
		task := p.ended()
		a := task.Attempt
		if task.Status != fleet.Complete || !strings.Contains(a.Summary, stubmodel.Text) {
			t := encode(task)
			p.Fatalf("not complete with the model's text:\n%s", t)
		}
		if a.Spent.Tokens != stubmodel.InputTokens+stubmodel.OutputTokens {
			p.Errorf("spent %+v, want the model's %d+%d tokens", a.Spent, stubmodel.InputTokens, stubmodel.OutputTokens)
		}
		if agent == "claude" && a.Spent.USD <= 0 {
			p.Errorf("spent %+v, want a cost: claude gives one", a.Spent)
		}
		if a.Thread == "" {
			p.Errorf("the conversation is not known:\n%s", encode(task))
		}
		p.nothingLeft()
	})
}

package runs_test

import (
	"encoding/json"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
)

// askBash asks for permission to run a command, as the agent of an attempt. It returns the id of the
// question.
func (f *fixture) askBash(a engine.Assignment, command string) string {
	f.t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	f.must(err)
	id, err := f.engine.Ask(f.ctx, engine.Ask{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "Bash: " + command, Options: []string{"allow", "deny"}, Tool: "Bash", Input: input,
	})
	f.must(err)
	return id
}

func TestAnAnswerForTheRunAnswersLaterRequestsUntilItsGrantIsRemoved(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop())
		a := f.claim()
		first := f.askBash(a, "go test ./api")
		open := must2(f.Questions.List(f.ctx, run.ID))(f)
		if len(open) != 1 || open[0].Tool != "Bash" || len(open[0].Suggestions) != 2 || open[0].Suggestions[1] != "Bash(go test:*)" {
			t.Fatalf("open are %+v", open)
		}
		f.refused("an unknown scope", f.Questions.AnswerFor(f.ctx, first, fleet.Reply{Text: "allow", Scope: "forever"}), 400, "scope: found")
		f.refused("a rule for once", f.Questions.AnswerFor(f.ctx, first, fleet.Reply{Text: "allow", Rule: "Bash"}), 400, "rule: needs a scope")
		f.refused("a bad rule", f.Questions.AnswerFor(f.ctx, first, fleet.Reply{Text: "allow", Scope: fleet.GrantRun, Rule: "Write(src/**)"}), 400, "Edit(src/**)")
		f.must(f.Questions.AnswerFor(f.ctx, first, fleet.Reply{Text: "allow", Scope: fleet.GrantRun, Rule: "Bash(go test:*)"}))

		second := must2(f.Questions.Get(f.ctx, f.askBash(a, "go test ./web")))(f)
		if !second.Closed || second.Denied || second.By != "grant Bash(go test:*)" {
			t.Errorf("the second request: %+v", second)
		}
		grants := must2(f.as[credential.Viewer].Questions.Grants(f.ctx))(f)
		if len(grants) != 1 || grants[0].Rule != "Bash(go test:*)" || grants[0].Scope != fleet.GrantRun || grants[0].Run != run.ID || grants[0].By != "the operator" {
			t.Fatalf("grants are %+v", grants)
		}
		f.refused("by a viewer", f.as[credential.Viewer].Questions.RemoveGrant(f.ctx, grants[0].ID), 403, "")
		f.refused("by a worker", f.as[credential.Worker].Questions.RemoveGrant(f.ctx, grants[0].ID), 403, "")
		f.must(f.Questions.RemoveGrant(f.ctx, grants[0].ID))
		f.refused("twice", f.Questions.RemoveGrant(f.ctx, grants[0].ID), 404, "not found")
		if third := must2(f.Questions.Get(f.ctx, f.askBash(a, "go test ./cli")))(f); third.Closed {
			t.Errorf("the third request: %+v", third)
		}
	})
}

func TestRequestsForPermissionAreCountedByTheRuleThatWouldAnswerThem(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop())
		a := f.claim()
		f.must(f.Questions.AnswerFor(f.ctx, f.askBash(a, "go test ./api"), fleet.Reply{Text: "allow", Scope: fleet.GrantTask, Rule: "Bash(go test:*)"}))
		f.pass(time.Minute)
		f.askBash(a, "go test ./web")
		f.must(f.Questions.Answer(f.ctx, f.askBash(a, "git push"), "not now", true))
		f.pass(time.Minute)
		f.askBash(a, "rm x")
		_, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "which port?"})
		f.must(err)

		list := must2(f.as[credential.Viewer].Questions.Permissions(f.ctx, fleet.PermissionQuery{Project: run.Project}))(f)
		if len(list) != 3 {
			t.Fatalf("%+v", list)
		}
		if p := list[0]; p.Rule != "Bash(rm x)" || p.Asked != 1 || p.Open != 1 || len(p.By) != 0 {
			t.Errorf("open: %+v", p)
		}
		if p := list[1]; p.Rule != "Bash(git push:*)" || p.Denied != 1 || p.Allowed != 0 || p.By[0].By != "the operator" {
			t.Errorf("denied: %+v", p)
		}
		p := list[2]
		if p.Rule != "Bash(go test:*)" || p.Tool != "Bash" || p.Asked != 2 || p.Allowed != 2 || p.Example != "Bash: go test ./web" || len(p.Runs) != 1 || p.Runs[0] != run.ID ||
			len(p.By) != 2 || p.By[0] != (fleet.PermissionAnswer{By: "grant Bash(go test:*)", Allowed: 1}) || p.By[1].By != "the operator" {
			t.Errorf("allowed: %+v", p)
		}
		for what, q := range map[string]fleet.PermissionQuery{"of another project": {Project: "other"}, "later": {Since: f.clock().Add(time.Minute)}} {
			if list := must2(f.Questions.Permissions(f.ctx, q))(f); len(list) != 0 {
				t.Errorf("%s: %+v", what, list)
			}
		}
		if list := must2(f.Questions.Permissions(f.ctx, fleet.PermissionQuery{Since: f.clock()}))(f); len(list) != 1 {
			t.Errorf("since the last minute: %+v", list)
		}
	})
}

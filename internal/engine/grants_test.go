package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/permission"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// asksFor asks for permission to run a shell command, and returns the question as it is stored.
func (f *fixture) asksFor(a engine.Assignment, ref, command string) store.Question {
	f.t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	f.must(err)
	id, err := f.Ask(context.Background(), engine.Ask{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ref: ref, Text: "Bash: " + command, Options: []string{"allow", "deny"},
		Tool: "Bash", Input: input, Dir: "/srv",
	})
	f.must(err)
	return f.question(id)
}

func (f *fixture) question(id string) (q store.Question) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
		q, err = r.Question(id)
		return err
	}))
	return q
}

func (f *fixture) answerFor(q store.Question, scope fleet.GrantScope, rule string) {
	f.t.Helper()
	f.must(f.Answer(context.Background(), engine.Answer{Question: q.ID, Text: "allow", Who: "sam", Scope: scope, Rule: rule}))
}

func expectAnswer(t *testing.T, q store.Question, denied bool, by string) {
	t.Helper()
	if !q.Closed || q.Denied != denied || q.By != by || q.Answered.IsZero() {
		t.Errorf("%s: closed %v, denied %v, by %q; want denied %v, by %q", q.Text, q.Closed, q.Denied, q.By, denied, by)
	}
}

func withRules(id string, policy plan.QuestionPolicy, p plan.Permissions) plan.Task {
	return plan.Task{ID: id, Agent: "claude", QuestionRules: plan.QuestionRules{Questions: policy}, Permissions: p}
}

func TestRulesOfTheTaskAnswerQuestionsWithoutAUser(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{withRules("a", plan.Ask, plan.Permissions{
		Allow: []string{"Bash(go test:*)"}, Deny: []string{"Bash(rm:*)"}, Ask: []string{"Bash(go test ./live)"},
	})}})
	a := f.claim()
	allowed := f.asksFor(a, "1", "go test ./x")
	expectAnswer(t, allowed, false, "rule Bash(go test:*)")
	if allowed.Answer != "allow" {
		t.Errorf("the answer is %q", allowed.Answer)
	}
	denied := f.asksFor(a, "2", "go test && rm x")
	expectAnswer(t, denied, true, "rule Bash(rm:*)")
	if !strings.Contains(denied.Answer, "Bash(rm:*)") {
		t.Errorf("the agent is told %q", denied.Answer)
	}
	if n := len(f.events("question.asked")); n != 0 {
		t.Errorf("%d questions were asked, which a user is notified of", n)
	}
	if o := f.beat(a, allowed.ID, denied.ID); len(o.Answers) != 2 || o.Waits {
		t.Errorf("the worker gets %+v", o)
	}
	for _, command := range []string{"go test ./live", "ls"} {
		if q := f.asksFor(a, command, command); q.Closed {
			t.Errorf("%s is answered by %s", command, q.By)
		}
	}
	if n := len(f.events("question.asked")); n != 2 {
		t.Errorf("%d questions were asked, want 2", n)
	}
	if o := f.beat(a); !o.Waits {
		t.Error("the attempt does not wait")
	}
}

func TestThePolicyAnswersWhatNoRuleDecides(t *testing.T) {
	rules := plan.Permissions{Allow: []string{"Bash(go test:*)"}, Deny: []string{"Bash(rm:*)"}, Ask: []string{"Bash(git push:*)"}}
	for policy, want := range map[plan.QuestionPolicy][4]string{ // for go test, rm, git push, ls
		plan.Ask:   {"allow", "deny", "ask", "ask"},
		"":         {"allow", "deny", "ask", "ask"},
		plan.Rules: {"allow", "deny", "ask", "deny"},
		plan.Allow: {"allow", "deny", "ask", "allow"},
		plan.Deny:  {"deny", "deny", "deny", "deny"},
	} {
		f := newFixture(t)
		f.submit(plan.Plan{Tasks: []plan.Task{withRules("a", policy, rules)}})
		a := f.claim()
		for i, command := range []string{"go test", "rm x", "git push", "ls"} {
			q := f.asksFor(a, command, command)
			got := "ask"
			if q.Closed {
				got = map[bool]string{true: "deny", false: "allow"}[q.Denied]
			}
			if got != want[i] {
				t.Errorf("%s, %s: %s, want %s", policy, command, got, want[i])
			}
		}
	}
}

func TestAQuestionThatIsNotAboutAToolIsDeniedIfOnlyRulesDecide(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{withRules("a", plan.Rules, plan.Permissions{}), withRules("b", plan.Rules, plan.Permissions{Ask: []string{"AskUserQuestion"}})}})
	a, b := f.claim(), f.claim()
	q := f.question(f.ask(a, "which colour?"))
	expectAnswer(t, q, true, "policy rules")
	if !strings.Contains(q.Answer, "Decide for yourself") {
		t.Errorf("the agent is told %q", q.Answer)
	}
	if q := f.question(f.ask(b, "which colour?")); q.Closed {
		t.Errorf("answered by %s, although a rule says to ask", q.By)
	}
}

func TestOneAnswerForTheRunAnswersTheSameQuestionOfTwentyAgents(t *testing.T) {
	f := newFixture(t)
	var p plan.Plan
	for i := range 20 {
		p.Tasks = append(p.Tasks, plan.Task{ID: fmt.Sprint("t", i), Agent: "claude"})
	}
	run := f.submit(p)
	other := f.submit(plan.Plan{Tasks: []plan.Task{{ID: "other", Agent: "claude"}}})
	var held []engine.Assignment
	var asked []store.Question
	for range 21 {
		a := f.claim()
		held, asked = append(held, a), append(asked, f.asksFor(a, "q", "go test ./"+a.Task.Task))
	}
	f.answerFor(asked[0], fleet.GrantRun, "Bash(go test:*)")
	expectAnswer(t, f.question(asked[0].ID), false, "sam")
	for i, q := range asked[1:20] {
		expectAnswer(t, f.question(q.ID), false, "grant Bash(go test:*)")
		if o := f.beat(held[i+1], q.ID); len(o.Answers) != 1 || o.Waits {
			t.Errorf("the worker gets %+v", o)
		}
	}
	if q := f.question(asked[20].ID); q.Closed || q.Run != other {
		t.Errorf("a question of another run is answered by %s", q.By)
	}
	later := f.asksFor(held[7], "later", "go test -race")
	expectAnswer(t, later, false, "grant Bash(go test:*)")
	grants, err := f.Grants(context.Background(), run)
	f.must(err)
	if len(grants) != 1 || grants[0].Rule != "Bash(go test:*)" || grants[0].Run != run || grants[0].Task != "" || grants[0].By != "sam" || grants[0].Scope != fleet.GrantRun {
		t.Errorf("grants: %+v", grants)
	}
	if list, err := f.Grants(context.Background(), other); err != nil || len(list) != 0 {
		t.Errorf("the other run has %+v, %v", list, err)
	}
	if list, err := f.Grants(context.Background(), ""); err != nil || len(list) != 1 {
		t.Errorf("all grants: %+v, %v", list, err)
	}
}

func TestAGrantHoldsWithinItsScope(t *testing.T) {
	for scope, want := range map[fleet.GrantScope][3]bool{ // the same task later, another task, another run
		fleet.GrantOnce: {}, fleet.GrantTask: {true}, fleet.GrantRun: {true, true}, fleet.GrantAlways: {true, true, true},
	} {
		f := newFixture(t)
		f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude", Limits: plan.Limits{Retries: 1}}, {ID: "b", Agent: "claude"}}})
		a, b := f.claim(), f.claim()
		f.answerFor(f.asksFor(a, "q", "make x"), scope, "")
		f.finish(a, failure.VerifyFailed)
		f.sweep(0)
		again := f.claim() // the next attempt at task a
		f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude"}}})
		c := f.claim()
		for i, who := range []engine.Assignment{again, b, c} {
			if q := f.asksFor(who, "q2", "make x"); q.Closed != want[i] {
				t.Errorf("%s: question %d closed %v, want %v", scope, i, q.Closed, want[i])
			}
		}
		if (len(again.Grants) > 0) != want[0] || (len(c.Grants) > 0) != want[2] {
			t.Errorf("%s: the workers get %v and %v", scope, again.Grants, c.Grants)
		}
	}
}

func TestADenialCanHoldForTheRun(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude"}, {ID: "b", Agent: "claude"}}})
	a, b := f.claim(), f.claim()
	one, two := f.asksFor(a, "q", "git push"), f.asksFor(b, "q", "git push")
	f.must(f.Answer(context.Background(), engine.Answer{Question: one.ID, Text: "never push", Deny: true, Who: "sam", Scope: fleet.GrantRun, Rule: "Bash(git push:*)"}))
	expectAnswer(t, f.question(two.ID), true, "grant Bash(git push:*)")
	if q := f.question(one.ID); q.Answer != "never push" || q.Rule != "Bash(git push:*)" || q.Scope != fleet.GrantRun {
		t.Errorf("%+v", q)
	}
	expectAnswer(t, f.asksFor(b, "3", "git push --force"), true, "grant Bash(git push:*)")
}

func TestARemovedGrantNoLongerAnswers(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude"}}})
	a := f.claim()
	f.answerFor(f.asksFor(a, "1", "make x"), fleet.GrantAlways, "")
	f.answerFor(f.asksFor(a, "2", "make y"), fleet.GrantAlways, "Bash(make y)")
	grants, err := f.Grants(context.Background(), "")
	f.must(err)
	if len(grants) != 2 || grants[0].Run != "" {
		t.Fatalf("grants: %+v", grants)
	}
	f.must(f.RemoveGrant(context.Background(), grants[0].ID, "sam"))
	if q := f.asksFor(a, "3", "make x"); q.Closed {
		t.Errorf("answered by %s", q.By)
	}
	expectAnswer(t, f.asksFor(a, "4", "make y"), false, "grant Bash(make y)")
	var missing *engine.NotFoundError
	if err := f.RemoveGrant(context.Background(), grants[0].ID, "sam"); !errors.As(err, &missing) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestTheSameGrantIsStoredOnce(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude"}}})
	a := f.claim()
	for _, command := range []string{"make x && make y", "make x; make y"} { // the rule names only a part of each
		f.answerFor(f.asksFor(a, command, command), fleet.GrantRun, "Bash(make x)")
	}
	if list, err := f.Grants(context.Background(), a.Task.Run); err != nil || len(list) != 1 {
		t.Errorf("grants: %+v, %v", list, err)
	}
}

func TestAnInvalidGrantChangesNothing(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude"}}})
	a := f.claim()
	q, free := f.asksFor(a, "1", "make x"), f.ask(a, "which?")
	for _, c := range []struct {
		answer engine.Answer
		want   string
	}{
		{engine.Answer{Question: q.ID, Scope: fleet.GrantRun, Rule: "Bash("}, "want a tool"},
		{engine.Answer{Question: q.ID, Scope: fleet.GrantRun, Rule: "Bash(go test:*)"}, "does not name this request"},
		{engine.Answer{Question: q.ID, Scope: "forever"}, "want once, task, run or always"},
		{engine.Answer{Question: q.ID, Rule: "Bash"}, "needs a scope"},
		{engine.Answer{Question: free, Scope: fleet.GrantRun}, "no request for permission"},
	} {
		c.answer.Text = "allow"
		err := f.Answer(context.Background(), c.answer)
		var invalid interface{ Invalid() bool }
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.answer, err, c.want)
		}
		if f.question(c.answer.Question).Closed {
			t.Errorf("%+v: the question is answered", c.answer)
		}
	}
	if n := len(f.events("grant.made")); n != 0 {
		t.Errorf("%d grants were made", n)
	}
}

func TestAQuestionHasSuggestedRules(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "claude"}}})
	a := f.claim()
	id, err := f.Ask(context.Background(), engine.Ask{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "?", Tool: "Bash", Input: json.RawMessage(`{"command":"go test ./x"}`),
		Suggestions: []string{"Bash(go test ./x *)", "no rule", "Bash(rm:*)"},
	})
	f.must(err)
	if got, want := f.question(id).Suggestions, []string{"Bash(go test ./x)", "Bash(go test ./x *)", "Bash(go test:*)"}; !slices.Equal(got, want) {
		t.Errorf("suggestions %q, want %q", got, want)
	}
	long, err := json.Marshal(map[string]string{"command": "go test " + strings.Repeat("x", 1<<17)})
	f.must(err)
	id, err = f.Ask(context.Background(), engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "?", Tool: "Bash", Input: long})
	f.must(err)
	if q := f.question(id); len(q.Input) > 0 || q.Closed {
		t.Errorf("%d bytes are stored, closed %v", len(q.Input), q.Closed)
	}
}

func TestARuleThatCannotBeReadNeverAllows(t *testing.T) {
	f := newFixture(t)
	f.submit(plan.Plan{Tasks: []plan.Task{withRules("a", plan.Allow, plan.Permissions{Allow: []string{"Bash"}, Deny: []string{"Future(x)"}})}})
	if q := f.asksFor(f.claim(), "1", "make x"); q.Closed {
		t.Errorf("answered by %s", q.By)
	}
}

// permissionsOf returns rules for a simulated task.
func (w *world) permissionsOf() (plan.QuestionRules, plan.Permissions) {
	policies := []plan.QuestionPolicy{plan.Ask, plan.Ask, plan.Rules, plan.Allow, plan.Deny}
	var p plan.Permissions
	for _, list := range []*[]string{&p.Allow, &p.Deny, &p.Ask} {
		if w.chance(4) {
			*list = append(*list, simRules[w.rng.IntN(len(simRules))])
		}
	}
	return plan.QuestionRules{Questions: policies[w.rng.IntN(len(policies))]}, p
}

var simRules = []string{"Bash(make:*)", "Bash(make a)", "Bash(rm:*)", "Bash"}

// askForTool simulates an agent that asks for permission to run a command, and a user who answers
// some of these requests, for a while or for ever, and who removes grants.
func (w *world) askForTool(by *worker) error {
	if len(by.held) == 0 {
		return nil
	}
	ctx := context.Background()
	if w.chance(6) {
		grants, err := w.engine().Grants(ctx, "")
		if err == nil && len(grants) > 0 {
			err = w.engine().RemoveGrant(ctx, grants[w.rng.IntN(len(grants))].ID, "sam")
		}
		return w.orMissing(err)
	}
	h := by.held[w.rng.IntN(len(by.held))]
	command := []string{"make a", "make b", "rm x", "make a && rm x"}[w.rng.IntN(4)]
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return err
	}
	id, err := w.engine().Ask(ctx, engine.Ask{
		Attempt: h.Attempt.ID, Token: h.Attempt.Token, Ref: fmt.Sprint("ref", w.rng.IntN(20)), Text: command, Tool: "Bash", Input: input,
	})
	w.note("%s asks for %s: %s, %v", h.Attempt.ID, command, id, err)
	if err != nil || w.chance(2) {
		return expected(err)
	}
	scopes := []fleet.GrantScope{fleet.GrantOnce, fleet.GrantTask, fleet.GrantRun, fleet.GrantAlways}
	err = w.engine().Answer(ctx, engine.Answer{Question: id, Text: "allow", Deny: w.chance(4), Who: "sam", Scope: scopes[w.rng.IntN(len(scopes))]})
	w.note("sam answers %s: %v", id, err)
	return expected(err)
}

// checkQuestions checks that no question is open which the rules or grants of its task decide, and
// that every answer of a rule is the one that the rule gives.
func checkQuestions(r store.Reader) error {
	all, err := r.Questions(false)
	for _, q := range all {
		byRule := strings.HasPrefix(q.By, "rule ")
		if q.Tool == "" || q.Closed && !byRule {
			continue
		}
		t, err := r.Task(store.TaskKey{Run: q.Run, Task: q.Task})
		if err != nil {
			return err
		}
		spec, err := plan.DecodeTask(t.Spec)
		if err != nil {
			return err
		}
		rules, err := simRulesOf(r, q, spec.Permissions)
		if err != nil {
			return err
		}
		d := permission.Decide(permission.Policy(spec.Questions), rules, permission.Call{Tool: q.Tool, Input: q.Input})
		switch {
		case !q.Closed && d.Outcome != permission.Asked:
			return fmt.Errorf("question %s about %q is open, although %s decides it", q.ID, q.Text, d.By(""))
		case byRule && q.Denied && d.Outcome != permission.Denied:
			return fmt.Errorf("question %s about %q was denied by %s, and is now %s", q.ID, q.Text, q.By, d.Outcome)
		}
	}
	return err
}

func simRulesOf(r store.Reader, q store.Question, p plan.Permissions) (rules permission.Rules, err error) {
	if rules.Allow, err = permission.ParseAll(p.Allow); err != nil {
		return rules, err
	}
	if rules.Deny, err = permission.ParseAll(p.Deny); err != nil {
		return rules, err
	}
	if rules.Ask, err = permission.ParseAll(p.Ask); err != nil {
		return rules, err
	}
	for _, parent := range []string{engine.GrantParent(""), engine.GrantParent(q.Run)} {
		items, err := r.Items(engine.GrantKind, parent, -1, 1<<30)
		if err != nil {
			return rules, err
		}
		for _, item := range items {
			var g fleet.Grant
			if err := json.Unmarshal(item.Data, &g); err != nil {
				return rules, err
			}
			if g.Task != "" && g.Task != q.Task {
				continue
			}
			rule, err := permission.Parse(g.Rule)
			if err != nil {
				return rules, err
			}
			rule.Grant = true
			if g.Deny {
				rules.Deny = append(rules.Deny, rule)
			} else {
				rules.Allow = append(rules.Allow, rule)
			}
		}
	}
	return rules, nil
}

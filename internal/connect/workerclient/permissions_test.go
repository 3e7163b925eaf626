package workerclient_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func TestRulesAndGrantsDecideTheRequestsOfAgentsOnOtherMachines(t *testing.T) {
	w := start(t)
	rules := plan.Permissions{Allow: []string{"Edit(src/**)"}}
	w.submit(plan.Task{ID: "one", Permissions: rules}, plan.Task{ID: "two", Permissions: rules})
	e := w.worker()
	w.join(e)
	a := w.claim(e, "k")
	ask := func(a engine.Assignment, ref, tool, input string) (string, store.Question) {
		t.Helper()
		id, err := e.Ask(t.Context(), engine.Ask{
			Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ref: ref, Text: ref, Tool: tool, Input: json.RawMessage(input), Dir: "/srv", Suggestions: []string{"Bash(make x *)"},
		})
		if err != nil {
			t.Fatal(err)
		}
		orders, err := e.Beat(t.Context(), store.Worker{ID: "w-" + name}, []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Asking: []string{id}}})
		if err != nil || len(orders) != 1 {
			t.Fatal(orders, err)
		}
		if len(orders[0].Answers) == 0 {
			return id, store.Question{}
		}
		return id, orders[0].Answers[0]
	}
	if _, q := ask(a, "edit", "Write", `{"file_path":"/srv/src/a.go"}`); !q.Closed || q.Denied || q.Answer != "allow" {
		t.Errorf("%+v", q)
	}
	id, q := ask(a, "make", "Bash", `{"command":"make x"}`)
	if q.Closed {
		t.Fatalf("answered: %+v", q)
	}
	long, _ := json.Marshal(map[string]string{"command": "make x " + strings.Repeat("y", 1<<17)})
	if _, q := ask(a, "long", "Bash", string(long)); q.Closed {
		t.Errorf("a command that was cut is answered: %+v", q)
	}
	if err := w.engine.Answer(t.Context(), engine.Answer{Question: id, Text: "allow", Scope: fleet.GrantRun, Rule: "Bash(make:*)"}); err != nil {
		t.Fatal(err)
	}
	if _, q := ask(a, "make", "Bash", `{"command":"make x"}`); q.Rule != "Bash(make:*)" {
		t.Errorf("the worker gets %+v", q)
	}
	b := w.claim(e, "k2")
	if len(b.Grants) != 1 || b.Grants[0].Rule != "Bash(make:*)" {
		t.Errorf("the next task has the grants %+v", b.Grants)
	}
	if _, q := ask(b, "make", "Bash", `{"command":"make y"}`); !q.Closed || q.Denied {
		t.Errorf("%+v", q)
	}
}

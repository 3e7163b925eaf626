package dispatch_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/flow/dispatch"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/plan"
)

func templates(name string) (prompt.Template, error) {
	if name != "bug-fix" {
		return prompt.Template{}, errors.New("no template " + name)
	}
	return prompt.Parse("bug-fix", "Fix {{BEAD}} in {{REPO}} with {{AGENT}} {{MODEL}}.\n{{PROMPT}}\nLook at {{FILE}}."), nil
}

func dispatched(t *testing.T, task plan.Task, s dispatch.Settings) (plan.Task, error) {
	t.Helper()
	p, err := dispatch.Plan(plan.Plan{Tasks: []plan.Task{task}}, s, templates)
	return p.Tasks[0], err
}

func TestABeadHasTheProtocolsLimitsByDefault(t *testing.T) {
	got, err := dispatched(t, dispatch.BeadTask("bd-1", "Do it."), dispatch.Settings{Agent: "claude", Model: "opus", Repo: "/r"})
	want := plan.Task{
		ID: "bd-1", Name: "bd-1", Prompt: "Do it.", Agent: "claude", Model: "opus", Limits: plan.Limits{Retries: 2, Timeout: time.Hour}, QuestionRules: plan.QuestionRules{Questions: plan.Ask}, Dispatch: &plan.Dispatch{Bead: "bd-1", Repo: "/r"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	none, never := 0, time.Duration(0)
	got, err = dispatched(t, dispatch.BeadTask("bd-1", "Do it."), dispatch.Settings{
		Agent: "codex", Repo: "/r", Retries: &none, Timeout: &never, Branch: "b", Verify: []string{"make"}, Questions: plan.Deny,
	})
	want.Agent, want.Model, want.Retries, want.Timeout, want.Branch, want.Worktree = "codex", "", 0, 0, "b", true
	want.Verify, want.Questions = []string{"make"}, plan.Deny
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestABeadOverridesTheSettings(t *testing.T) {
	task := dispatch.BeadTask("bd-1", "Do it.")
	task.Agent, task.Branch, task.Dispatch.Repo = "codex", "own", "/own"
	got, err := dispatched(t, task, dispatch.Settings{Agent: "claude", Model: "opus", Repo: "/r", Branch: "b"})
	if err != nil || got.Agent != "codex" || got.Model != "" || got.Branch != "own" || got.Dispatch.Repo != "/own" {
		t.Errorf("%+v %+v, %v", got, got.Dispatch, err)
	}
	if task.Dispatch.Template != "" || task.Worktree {
		t.Error("the plan that was given was changed")
	}
}

func TestAPromptIsMadeFromATemplate(t *testing.T) {
	task := dispatch.BeadTask("bd-1", "It crashes on {{FILE}}.")
	task.Dispatch.Vars = map[string]string{"FILE": "login.go"}
	got, err := dispatched(t, task, dispatch.Settings{
		Agent: "claude", Model: "opus", Repo: "/r", Template: "bug-fix", Vars: map[string]string{"FILE": "other.go"},
	})
	want := "Fix bd-1 in /r with claude opus.\nIt crashes on {{FILE}}.\nLook at login.go."
	if err != nil || got.Prompt != want || got.Dispatch.Template != "bug-fix" {
		t.Errorf("%q %+v, %v", got.Prompt, got.Dispatch, err)
	}
}

func TestATemplateWithoutAPromptVariableStillContainsThePrompt(t *testing.T) {
	const head = "Bead {{BEAD_ID}} in {{REPO_PATH}}.\n"
	for _, c := range []struct {
		template, prompt, want string
		vars                   map[string]string
	}{
		{head + "{{DESCRIPTION}}\nFiles: {{FILES}}", "It crashes.", "Bead bd-1 in /r.\nIt crashes.\nFiles: not specified", nil},
		{
			head + "{{BUG_DESCRIPTION}}\n{{EXPECTED_BEHAVIOR}}\n{{FILES}}", "It crashes.", "Bead bd-1 in /r.\nIt crashes.\nIt runs.\na.go",
			map[string]string{"EXPECTED_BEHAVIOR": "It runs.", "FILES": "a.go"},
		},
		{head + "{{SPEC}}", "A page.", "Bead bd-1 in /r.\nA page.", nil},
		{head + "{{GOAL}} {{SCOPE}}", "Less code", "Bead bd-1 in /r.\nLess code not specified", nil},
		{head + "{{SCRIPT_PURPOSE}} {{OUTPUT_PATH}}", "Clean up", "Bead bd-1 in /r.\nClean up not specified", nil},
		{head + "{{DIFF}}\n", "Review it.", "Bead bd-1 in /r.\nnot specified\n\nReview it.\n", nil},
		{head + "{{GOAL}}\n", "Mind the tests.", "Bead bd-1 in /r.\nLess code\n\nMind the tests.\n", map[string]string{"GOAL": "Less code"}},
		{head + "{{GOAL}}", "", "Bead bd-1 in /r.\nLess code", map[string]string{"GOAL": "Less code"}},
		{"Do what you like.", "Do it.", "Do what you like.\n\nDo it.\n", nil},
		// A prompt that is the filled-in template is used as it is: some scripts fill it in
		// themselves.
		{head + "{{GOAL}}\n{{FILES}}\n", "Bead bd-1 in /elsewhere.\nLess code\na.go", "Bead bd-1 in /elsewhere.\nLess code\na.go", nil},
	} {
		task := dispatch.BeadTask("bd-1", c.prompt)
		p, err := dispatch.Plan(plan.Plan{Tasks: []plan.Task{task}}, dispatch.Settings{Repo: "/r", Template: "t", Vars: c.vars},
			func(name string) (prompt.Template, error) { return prompt.Parse(name, c.template), nil })
		if err != nil || p.Tasks[0].Prompt != c.want || p.Tasks[0].Dispatch.Template != "t" {
			t.Errorf("%q with %q is %q, %v; want %q", c.template, c.prompt, p.Tasks[0].Prompt, err, c.want)
		}
	}
	for text, names := range map[string][]string{"{{DESCRIPTION}} {{FILES}}": {"DESCRIPTION"}, "{{TICKET}} {{SPEC}}": {"TICKET", "SPEC"}} {
		_, err := dispatch.Plan(plan.Plan{Tasks: []plan.Task{dispatch.BeadTask("bd-1", "")}}, dispatch.Settings{Template: "t"},
			func(name string) (prompt.Template, error) { return prompt.Parse(name, text), nil })
		if missing := (*prompt.MissingError)(nil); !errors.As(err, &missing) || !slices.Equal(missing.Names, names) {
			t.Errorf("%s without a prompt: %v, want %v to be missing", text, err, names)
		}
	}
}

func TestABeadInAWorktreeIsNotSentToTheRepositoryItself(t *testing.T) {
	got, err := dispatched(t, dispatch.BeadTask("bd-1", "It crashes."), dispatch.Settings{
		Agent: "claude", Repo: "/r", Branch: "fix", Template: "bug-fix", Vars: map[string]string{"FILE": "a.go"},
	})
	if want := "Fix bd-1 in . with claude .\nIt crashes.\nLook at a.go."; err != nil || got.Prompt != want {
		t.Errorf("%q, %v; want %q", got.Prompt, err, want)
	}
}

func TestAVariableForAllBeadsNeedNotBeInEveryTemplateButInOne(t *testing.T) {
	both := func(name string) (prompt.Template, error) {
		return prompt.Parse(name, map[string]string{"a": "{{PROMPT}} in {{FILE}}", "b": "{{PROMPT}} alone"}[name]), nil
	}
	one, two, three := dispatch.BeadTask("bd-1", "x"), dispatch.BeadTask("bd-2", "y"), dispatch.BeadTask("bd-3", "z")
	one.Dispatch.Template, two.Dispatch.Template = "a", "b"
	all := plan.Plan{Tasks: []plan.Task{one, two, three}}
	p, err := dispatch.Plan(all, dispatch.Settings{Vars: map[string]string{"FILE": "f.go"}}, both)
	if err != nil || p.Tasks[0].Prompt != "x in f.go" || p.Tasks[1].Prompt != "y alone" || p.Tasks[2].Prompt != "z" {
		t.Errorf("%+v, %v", p.Tasks, err)
	}
	unknown := (*prompt.UnknownError)(nil)
	_, err = dispatch.Plan(all, dispatch.Settings{Vars: map[string]string{"FILE": "f.go", "FIEL": "g.go"}}, both)
	if !errors.As(err, &unknown) || len(unknown.Names) != 1 || unknown.Names[0] != "FIEL" {
		t.Errorf("%v, want FIEL to be refused", err)
	}
	two.Dispatch.Vars = map[string]string{"FILE": "own.go"}
	if _, err = dispatch.Plan(plan.Plan{Tasks: []plan.Task{one, two}}, dispatch.Settings{Vars: map[string]string{"FILE": "f.go"}}, both); !errors.As(err, &unknown) {
		t.Errorf("%v, want a bead's own variable to be in its template", err)
	}
}

func TestABeadWithoutAUsablePromptIsRefused(t *testing.T) {
	for want, err := range map[string]error{
		"bead bd-1: it has neither a prompt nor a template":        second(dispatched(t, dispatch.BeadTask("bd-1", " "), dispatch.Settings{})),
		"bead bd-1: there are variables, but no template for them": second(dispatched(t, dispatch.BeadTask("bd-1", "x"), dispatch.Settings{Vars: map[string]string{"A": "b"}})),
		"bead bd-1: no template none":                              second(dispatched(t, dispatch.BeadTask("bd-1", "x"), dispatch.Settings{Template: "none"})),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	own := dispatch.BeadTask("bd-1", "x")
	own.Dispatch.Vars = map[string]string{"A": "b"}
	if _, err := dispatched(t, own, dispatch.Settings{}); err == nil || err.Error() != "bead bd-1: there are variables, but no template for them" {
		t.Errorf("a bead's own variable: %v", err)
	}
	missing := (*prompt.MissingError)(nil)
	if _, err := dispatched(t, dispatch.BeadTask("bd-1", ""), dispatch.Settings{Template: "bug-fix"}); !errors.As(err, &missing) || len(missing.Names) != 2 {
		t.Errorf("%v, want PROMPT and FILE to be missing", err)
	}
}

func second[A any](_ A, err error) error { return err }

func TestAgentsAreKnownByName(t *testing.T) {
	for name, meant := range map[string]string{"claud": "claude", "mine": "", "command": ""} {
		err := dispatch.CheckAgent(name, []string{"ours"})
		unknown := (*dispatch.AgentError)(nil)
		if !errors.As(err, &unknown) || unknown.Meant != meant {
			t.Errorf("%s: %v, meant %q", name, err, unknown.Meant)
		}
	}
	for _, name := range []string{"claude", "fake", "ours"} {
		if err := dispatch.CheckAgent(name, []string{"ours"}); err != nil {
			t.Error(err)
		}
	}
	if name, model := dispatch.SplitAgent("claude:a:b"); name != "claude" || model != "a:b" {
		t.Errorf("%s %s", name, model)
	}
}

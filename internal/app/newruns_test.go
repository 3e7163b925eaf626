package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/app"
	"gaffer/internal/plan"
	"gaffer/internal/project/trust"
)

// file writes a file of the project.
func (p testProject) file(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// findings returns the findings of a check, one on each line.
func findings(c fleet.PlanCheck) string {
	var lines []string
	for _, f := range c.Findings {
		lines = append(lines, fmt.Sprintf("%s %s:%d:%d %s", f.Severity, f.File, f.Line, f.Column, f.Text))
	}
	return strings.Join(lines, "\n")
}

func TestADraftHasTheFindingsOfTheCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("prompts/a.md", "Say hello.\n")
	c := p.coordinate().NewRuns
	for text, want := range map[string]string{
		"tasks: [{id: a, prompt: x, agent: fake}]":                                           "",
		"tasks:\n  - id: a\n    promt: x\n":                                                  "problem :3:5 a task has no key \"promt\"; did you mean \"prompt\"?",
		"tasks: [{id: a, agent: fake, prompt_file: prompts/a.md}]":                           "",
		"tasks: [{id: a, agent: fake, prompt_file: ../../etc/passwd}]":                       "problem :1:43 the prompt's file \"../../etc/passwd\" does not exist",
		"tasks: [{id: a, agent: fake, prompt_file: /etc/passwd}]":                            "problem :1:43 the prompt's file \"/etc/passwd\" does not exist",
		"tasks: [{id: a, prompt: x, agent: fake, env: {A_TOKEN: abcdef}}]":                   "warning :1:56 env: the value of A_TOKEN looks like a secret",
		"tasks: [{id: a, shell: no-such-program-here}, {id: b, command: [no-such-program]}]": "missing :0:0 agent command (task b): the program no-such-program is not installed: it is not in PATH",
		"{\"bead\": \"b\"}":       "problem",
		"\x00":                    "problem",
		strings.Repeat("[", 5000): "problem",
	} {
		got, err := c.Check(t.Context(), fleet.RunDraft{Project: p.root, Text: text})
		if err != nil {
			t.Errorf("%.60q: %v", text, err)
			continue
		}
		if said := findings(got); !strings.HasPrefix(said, want) || want == "" && said != "" {
			t.Errorf("%.60q:\n%s\nwant\n%s", text, said, want)
		}
		if problem := strings.HasPrefix(want, "problem"); got.Valid == problem || got.Ready != (want == "" || strings.HasPrefix(want, "warning")) {
			t.Errorf("%.60q: valid %t, ready %t", text, got.Valid, got.Ready)
		}
	}
}

func TestSecurityADraftIsOnlyForFoldersThatTheServerKnows(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "plan.yaml"), []byte("tasks: [{id: a, shell: touch out}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.root, "link")); err != nil {
		t.Fatal(err)
	}
	c := p.coordinate().NewRuns
	by := credential.Identity{ID: "t1", Role: credential.Operator}
	for _, project := range []string{"/", outside, p.root + "/", p.root + "/link", p.root + "/..", "..", "a\nb", filepath.Base(p.root)} {
		d := fleet.RunDraft{Project: project, Text: "tasks: [{id: a, shell: touch out}]"}
		_, checkErr := c.Check(t.Context(), d)
		_, _, startErr := c.Start(t.Context(), by, d)
		_, listErr := c.PlanFiles(t.Context(), project)
		_, readErr := c.PlanFile(t.Context(), project, "plan.yaml")
		_, programsErr := c.Programs(t.Context(), project)
		for what, err := range map[string]error{"check": checkErr, "start": startErr, "list": listErr, "read": readErr, "programs": programsErr} {
			var missing interface{ NotFound() bool }
			if !errors.As(err, &missing) || !missing.NotFound() {
				t.Errorf("%s in %q: %v", what, project, err)
			}
		}
	}
	for _, path := range []string{"link/plan.yaml", "../plan.yaml", filepath.Join(outside, "plan.yaml"), ""} {
		if text, err := c.PlanFile(t.Context(), p.root, path); err == nil || text.Text != "" {
			t.Errorf("%q: %q %v", path, text.Text, err)
		}
	}
	for what, d := range map[string]fleet.RunDraft{
		"nothing": {Project: p.root}, "both": {Project: p.root, Text: "x", Form: &fleet.RunForm{}}, "no project": {Text: "tasks: []"},
		"a huge text": {Project: p.root, Text: strings.Repeat("#", 5<<20)},
	} {
		var invalid interface{ Invalid() bool }
		if _, err := c.Check(t.Context(), d); !errors.As(err, &invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	a := p.open()
	defer a.Close()
	if runs, err := a.Fleet.Runs(t.Context(), true, true); err != nil || len(runs) > 0 {
		t.Errorf("%d runs were started: %v", len(runs), err)
	}
}

func TestSecurityAProgramOfTheProjectMustBeTrustedBeforeARunIsStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("gaffer.yaml", "agents:\n  mine: {argv: [cat]}\n")
	opts := p.options(func(string) string { return "" })
	getenv := opts.Getenv
	opts.Getenv = func(name string) string {
		if name == trust.Variable {
			return ""
		}
		return getenv(name)
	}
	a, err := app.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	served, err := a.Serve(app.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		served.Close()
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	c := served.NewRuns
	d := fleet.RunDraft{Project: p.root, Form: &fleet.RunForm{Prompts: []string{"Do it now"}, Agent: "mine"}}
	check, err := c.Check(t.Context(), d)
	if err != nil || check.Ready || !strings.Contains(findings(check), "missing") || !strings.Contains(check.Findings[0].Text+check.Findings[0].Next, "trust") {
		t.Errorf("%v %s", err, findings(check))
	}
	_, _, err = c.Start(t.Context(), credential.Identity{ID: "t1", Role: credential.Operator}, d)
	if err == nil || !strings.Contains(err.Error(), "trust") {
		t.Errorf("%v", err)
	}
}

func TestThePlanOfAPastRunHasNoSecretsAndNothingThatGafferHasAdded(t *testing.T) {
	t.Parallel()
	p := newRepository(t)
	a := p.open()
	defer a.Close()
	loaded, err := plan.Parse(nil, []byte("name: past\ntasks:\n  - {id: a, prompt: x, env: {WORD: sesame, REF: {from: env}}, candidates: [claude, codex]}\n  - {id: b, prompt: y, after: a}\n"), plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.Submit(t.Context(), loaded)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.coordinate().NewRuns.PlanOfRun(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.Text, "sesame") || !strings.Contains(got.Text, "candidates: [claude, codex]") || strings.Contains(got.Text, "gaffer-") || len(got.Notes) != 1 || got.Project != p.root {
		t.Errorf("%+v\n%s", got, got.Text)
	}
	again, err := plan.Parse(nil, []byte(got.Text), plan.Options{})
	if err != nil || len(again.Tasks) != len(loaded.Tasks) {
		t.Errorf("%d tasks, %v\n%s", len(again.Tasks), err, got.Text)
	}
}

func TestTheTextOfAPastRunOfWorkersNamesItsOnlyWorker(t *testing.T) {
	t.Parallel()
	c := newPlace(t).coordinate()
	admin := credential.Identity{ID: "a", Name: "a", Role: credential.Admin}
	run, err := c.Runs.Submit(t.Context(), admin, coordinator.NewRun{Project: "web", On: "den", Plan: []byte(`{"Name":"n","Tasks":[{"ID":"first","Prompt":"p"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.NewRuns.PlanOfRun(t.Context(), run.ID)
	if err != nil || got.Project != "web" || !got.Workers || got.On != "den" {
		t.Errorf("%+v %v", got, err)
	}
	var missing interface{ NotFound() bool }
	if _, err := c.NewRuns.PlanOfRun(t.Context(), "none"); !errors.As(err, &missing) || !missing.NotFound() {
		t.Errorf("a run that does not exist: %v", err)
	}
}

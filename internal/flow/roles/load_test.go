package roles

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/config"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
	"gaffer/team"
)

// hinted is the interface that every error of Load implements.
type hinted interface {
	error
	Hint() string
}

func TestAProjectsTemplatesComeBeforeOurs(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "team", "developer-work.md"), "Work on {{GROUP}}.\n{{MESSAGES}}\nEnd of ours.\n")
	put(t, filepath.Join(dir, "team", "qa-test.md"), "The team's QA.")
	put(t, filepath.Join(dir, "strict", "qa-test.md"), "The strict QA.")
	put(t, filepath.Join(dir, "team", "README.md"), "about {{ANYTHING}}")
	s, err := Load(settings(t, "team.roles.qa_expert.template: strict"), dir)
	if err != nil {
		t.Fatal(err)
	}
	all := briefs(t)
	for purpose, want := range map[teamstate.Purpose]string{
		teamstate.Work: "Work on `A`.\n## What the tech lead wrote\n", teamstate.Test: "The strict QA.\n\n## How your answer must end\n", teamstate.Review: "# Tech lead: review",
	} {
		got, err := s.Prompt(all[purpose])
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %v, %.80q", purpose, err, got)
		}
	}
	if tmpl, ok := s.Template(teamstate.Test); !ok || tmpl.Path != filepath.Join(dir, "strict", "qa-test.md") {
		t.Errorf("%+v", tmpl)
	}
	if tmpl, ok := s.Template(teamstate.Plan); !ok || tmpl.Path != "" {
		t.Errorf("%+v", tmpl)
	}
}

func TestAPromptAlwaysSaysHowToAnswer(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "team", "developer-work.md"), "Work.")
	s, err := Load(settings(t, ""), dir)
	if err != nil {
		t.Fatal(err)
	}
	b := briefs(t)[teamstate.Work]
	b.Step.Again = "it had no status"
	got, err := s.Prompt(b)
	if err != nil || !strings.HasPrefix(got, "Work.\n\n## How your answer must end\n") || !strings.Contains(got, "````text\nit had no status\n````") {
		t.Errorf("%v, %s", err, got)
	}
}

func TestATemplateThatCannotBeUsedIsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct{ file, text, want, hint string }{
		{"team/qa-test.md", "a\nb {{TASK}}", "qa-test.md:2: no variable is called TASK, want one of SESSION, STEP, ROLE,", "did you mean TASKS?"},
		{"team/qa-test.md", "{{BANANA}}", "qa-test.md:1: no variable is called BANANA", ""},
		{"team/qa-test.md", "Do this: {{TASKS}}", "qa-test.md:1: {{TASKS}} is several lines, want it alone in a line", ""},
		{"team/qa-test.md", "1. Do\n   {{TASKS}}\n", "qa-test.md:2: {{TASKS}} is several lines", ""},
		{"team/qa-test.md", "> {{TASKS}}\n", "qa-test.md:1: {{TASKS}} is several lines", ""},
		{"team/qa-test.md", "```\n{{TASKS}}\n```\n", "qa-test.md:2: {{TASKS}} is several lines", ""},
		{"team/qa-test.md", "{{TASKS}}{{TASKS}}\n", "qa-test.md:1: {{TASKS}} is several lines", ""},
		{"team/qa-test.md", strings.Repeat("{{TASKS}}\n", 100), "qa-test.md: makes a prompt of", "shorten it"},
		{"team/qa-test.md", strings.Repeat("x", 70_000), "qa-test.md: makes a prompt of", "shorten it"},
		{"team/qa-test.md", " ", "qa-test.md: is empty", ""},
		{"team/developer.md", "x", "developer.md: no start of an agent uses a template of this name, want one of pm-plan,", ""},
		{"team/qa-tests.md", "x", "qa-tests.md: no start of an agent", "did you mean qa-test?"},
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, c.file), c.text)
		_, err := Load(settings(t, ""), dir)
		if err == nil || !strings.HasPrefix(err.Error(), dir) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.30q: %v\nwant %s", c.text, err, c.want)
			continue
		}
		invalid, ok := errors.AsType[interface {
			error
			Invalid() bool
		}](err)
		if !ok || !invalid.Invalid() {
			t.Errorf("%v is not marked as invalid", err)
		}
		if h, ok := errors.AsType[hinted](err); c.hint != "" && (!ok || !strings.Contains(h.Hint(), c.hint)) {
			t.Errorf("%v has not the hint %s", err, c.hint)
		}
	}
}

func TestATemplateMayHaveAnyFewVariables(t *testing.T) {
	for _, text := range []string{
		"none at all", "{{GROUP}} {{GROUP}}", "{{ TASKS }}\n", "```\n{{{{TASKS}}\n```\n\n{{TASKS}}\r\n", "~~~\n```\n~~~\n{{TASKS}}", "{{.Go}} {{#if}}",
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "team/qa-test.md"), text)
		s, err := Load(settings(t, ""), dir)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if _, err := s.Prompt(briefs(t)[teamstate.Test]); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestATemplateThatIsALinkIsRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "secret"), "x")
	if err := os.Mkdir(filepath.Join(dir, "team"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "team", "qa-test.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(settings(t, ""), dir); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("%v", err)
	}
}

func TestAnInvalidRoleSettingIsRefusedWithItsLocation(t *testing.T) {
	for text, want := range map[string][2]string{
		"team:\n  roles:\n    pm: {agent: cladue}": {"gaffer.yaml:3:17: team.roles.pm.agent: no agent is called \"cladue\", want one of claude, codex,", "did you mean \"claude\"?"},
		"team.roles.pm.agent: command":             {"gaffer.yaml:1:22: team.roles.pm.agent: no agent is called \"command\"", "agents"},
		"team.roles.pm.agent: ''":                  {"no agent is called \"\"", "agents:"},
		"team.roles.pm.template: ../x":             {"gaffer.yaml:1:25: team.roles.pm.template: ", "a folder below templates/"},
		"team.roles.pm.labels: [a@b]":              {"team.roles.pm.labels: found \"a@b\", want words without @ and commas", ""},
	} {
		_, err := Load(settings(t, text), t.TempDir())
		e, ok := errors.AsType[*config.Error](err)
		if !ok || !strings.Contains(err.Error(), want[0]) || !strings.Contains(e.Hint(), want[1]) {
			t.Errorf("%q: %v\nwant …%s with a hint %s", text, err, want[0], want[1])
		}
	}
}

func TestAUserDefinedAgentPlaysARole(t *testing.T) {
	c := settings(t, "agents: {mine: {argv: [mine]}}\nteam.roles.qa_expert: {agent: mine, model: m, timeout: 5m, stall_timeout: 0s, retries: 0, questions: allow, labels: [gpu]}")
	s, err := Load(c, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := briefs(t)
	got, err := s.Task(all[teamstate.Test])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.Prompt, "# QA expert") || got.ID != "A-qa-test-1" || got.Name != "JWT Authentication System: test" || got.Agent != "mine" ||
		got.Model != "m" || got.Timeout != 5*time.Minute || got.StallTimeout != 0 || got.Retries != 0 || got.Questions != plan.Allow ||
		len(got.Labels) != 1 || got.Worktree || got.Branch != "" {
		t.Errorf("%+v", got)
	}
	got, err = s.Task(all[teamstate.Plan])
	if err != nil || got.Name != "plan" || got.Agent != "claude" || got.Timeout != 30*time.Minute || got.Retries != 2 || got.Questions != plan.Ask {
		t.Errorf("%+v, %v", got, err)
	}
	if s.Role(team.QAExpert).Agent != "mine" {
		t.Errorf("%+v", s.Role(team.QAExpert))
	}
}

func TestAnEscalatedGroupIsWorkedOnByTheStrongerModel(t *testing.T) {
	for text, want := range map[string][2]string{
		"team.roles.developer: {model: small, stronger_model: large}": {"small", "large"},
		"team.roles.developer: {model: small}":                        {"small", "small"},
	} {
		s, err := Load(settings(t, text), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		b := briefs(t)[teamstate.Work]
		before, err := s.Task(b)
		if err != nil {
			t.Fatal(err)
		}
		b.Escalated = true
		after, err := s.Task(b)
		if err != nil || before.Model != want[0] || after.Model != want[1] {
			t.Errorf("%s: %q and then %q, %v", text, before.Model, after.Model, err)
		}
	}
}

func TestNoAgentIsStartedForAMerge(t *testing.T) {
	for _, purpose := range []teamstate.Purpose{teamstate.Merge, teamstate.Deliver, ""} {
		_, err := load(t).Task(teamstate.Brief{Step: teamstate.Step{Purpose: purpose}})
		if _, ok := errors.AsType[*PurposeError](err); !ok {
			t.Errorf("%q: %v", purpose, err)
		}
	}
}

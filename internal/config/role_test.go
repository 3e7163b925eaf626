package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestARoleHasDefaultsAndWhatIsSetForIt(t *testing.T) {
	c, _, err := sources{
		user:    "team.roles.developer.timeout: 3h",
		project: "team:\n  roles:\n    developer:\n      agent: codex\n      labels: [gpu, linux]\n      questions: allow\n",
		env:     map[string]string{"GAFFER_TEAM_ROLES_DEVELOPER_RETRIES": "5"},
		flags:   []Setting{{"team.roles.developer.stall_timeout", "1m", "--set"}},
	}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	dev, pm := c.Role("developer"), c.Role("pm")
	if dev.Agent != "codex" || dev.Timeout != 3*time.Hour || dev.Retries != 5 || dev.StallTimeout != time.Minute ||
		dev.Questions != "allow" || dev.Template != "team" || !slices.Equal(dev.Labels, []string{"gpu", "linux"}) {
		t.Errorf("developer is %+v", dev)
	}
	if pm.Agent != "claude" || pm.Timeout != 30*time.Minute || pm.Retries != 2 || pm.Questions != "ask" || len(pm.Labels) != 0 {
		t.Errorf("pm is %+v", pm)
	}
	if v, err := c.Lookup("team.roles.developer.agent"); err != nil || v.Origin.Line != 4 || v.Key.Doc == "" {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestOnlyWhatIsSetForRolesIsListed(t *testing.T) {
	c, _, err := sources{project: "team: {roles: {pm: {model: opus}}}"}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range c.Values() {
		if isRoleKey(v.Key.Name) {
			names = append(names, v.Key.Name+"="+v.Text)
		}
	}
	if !slices.Equal(names, []string{"team.roles.pm.model=opus"}) {
		t.Errorf("%q", names)
	}
}

func TestAModelDoesNotOutliveTheAgentItWasSetFor(t *testing.T) {
	for _, c := range []struct {
		sources sources
		want    string
	}{
		{sources{user: "team.roles.pm.model: opus"}, "opus"},
		{sources{user: "team.roles.pm: {agent: claude, model: opus}"}, "opus"},
		{sources{user: "team.roles.pm: {agent: claude, model: opus}", project: "team.roles.pm.agent: codex"}, ""},
		{sources{user: "team.roles.pm.agent: codex", project: "team.roles.pm.model: gpt"}, "gpt"},
	} {
		config, _, err := c.sources.load(t)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Role("pm").Model; got != c.want {
			t.Errorf("%+v: model %q, want %q", c.sources, got, c.want)
		}
	}
}

func TestAFileOfRolesIsStrongerThanAllButFlags(t *testing.T) {
	c, root, err := sources{
		project: "team.roles.pm: {agent: codex, model: gpt, retries: 1}",
		env:     map[string]string{"GAFFER_TEAM_ROLES_PM_TIMEOUT": "1m"},
		flags:   []Setting{{"team.roles.pm.questions", "deny", "--set"}},
	}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "roles.yaml")
	write(t, path, "# mine\npm:\n  agent: gemini\n  timeout: 2m\n  questions: allow\n")
	with, err := c.WithRoles(path)
	if err != nil {
		t.Fatal(err)
	}
	r := with.Role("pm")
	if r.Agent != "gemini" || r.Model != "" || r.Timeout != 2*time.Minute || r.Questions != "deny" || r.Retries != 1 {
		t.Errorf("%+v", r)
	}
	if v, _ := with.Lookup("team.roles.pm.agent"); v.Origin.String() != path+":3" {
		t.Errorf("from %s", v.Origin)
	}
	if was := c.Role("pm"); was.Agent != "codex" || was.Model != "gpt" {
		t.Errorf("the settings without the file are %+v", was)
	}
}

func TestTheUsersOwnFileIsNoProjectsFileBesideAFileOfRoles(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	root := filepath.Dir(UserFile(getenv))
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, UserFile(getenv), "team.tests: [make test]\n")
	c, err := Load(Inputs{Root: root, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "roles.yaml")
	write(t, path, "pm: {agent: codex}\n")
	with, err := c.WithRoles(path)
	if err != nil || len(with.Programs()) > 0 {
		t.Errorf("%v, these need the user's trust: %v", err, with.Programs())
	}
}

func TestAMistakeInAFileOfRolesSaysWhere(t *testing.T) {
	c, root, err := sources{}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]string{
		"team: {roles: {}}":       {":1:1: unknown key \"team.roles.team\"", "the roles are pm, developer, qa_expert, tech_lead"},
		"\npm:\n  agnet: x":       {":3:3: unknown key \"team.roles.pm.agnet\"", "did you mean \"team.roles.pm.agent\"?"},
		"pm: {color: red}":        {":1:6: unknown key \"team.roles.pm.color\"", "a role has agent, model, stronger_model, template, timeout, stall_timeout, retries, questions, labels"},
		"pm: claude":              {":1:5: team.roles.pm: found a single value, want keys with values", ""},
		"[pm]":                    {": team.roles: found a list, want keys with values", ""},
		"pm: {retries: many}":     {":1:15: team.roles.pm.retries: found \"many\", want a number from 0 to 100", "attempts after the first"},
		"pm: {retries: -1}":       {"found \"-1\", want a number from 0 to 100", ""},
		"pm: {timeout: 5}":        {"found \"5\", want a duration such as", ""},
		"pm: {agent: [a]}":        {"team.roles.pm.agent: found a list, want one value", ""},
		"pm: {agent: \"a\\nb\"}":  {"want text in one line", ""},
		"pm: {questions: never}":  {"want ask, rules, deny or allow", ""},
		"pm: {labels: [a, [b]]}":  {"team.roles.pm.labels: found a list, want one text for each item", ""},
		"pm: {labels: [a, ]}\n- ": {"not YAML: ", ""},
		"pm: {labels: [a, '']}":   {"want text that is not empty", ""},
		"pm: {labels: [a, null]}": {"found no value, want one text for each item", ""},
	} {
		path := filepath.Join(root, "roles.yaml")
		write(t, path, text)
		_, err := c.WithRoles(path)
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), want[0]) || !strings.Contains(e.Hint(), want[1]) {
			t.Errorf("%q: %v\nwant …%s and a hint with %s", text, err, want[0], want[1])
		}
	}
	if _, err := c.WithRoles(filepath.Join(root, "none.yaml")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

func TestAListIsAListOfTextsOrOneText(t *testing.T) {
	for text, want := range map[string][]string{
		"team.tests: [go vet ./..., 'a \"b\" <c>']": {"go vet ./...", `a "b" <c>`},
		"team.tests:\n  - |\n    a\n    b\n  - 5":   {"a\nb\n", "5"},
		"team.tests: make test":                     {"make test"},
		"team.tests: '[ -f x ] && make'":            {"[ -f x ] && make"},
		"team.tests: []":                            {},
		"team: {mode: simple}":                      {},
	} {
		c, _, err := sources{project: text}.load(t)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := c.List("team.tests"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		v, _ := c.Lookup("team.tests")
		again, _, err := sources{flags: []Setting{{"team.tests", v.Text, "--set"}}}.load(t)
		if err != nil || !slices.Equal(again.List("team.tests"), want) {
			t.Errorf("%q as a flag: %v", v.Text, err)
		}
	}
}

func TestTheSettingsOfATeamAreBounded(t *testing.T) {
	for text, want := range map[string]string{
		"team.developers: 0":        `found "0", want a number from 1 to 4`,
		"team.developers: four":     `found "four", want a number from 1 to 4`,
		"team.iterations: 1e3":      `want a number from 1 to 1000`,
		"team.mode: fast":           "want auto, simple or parallel",
		"team.tests: {a: b}":        "team.tests: found a mapping",
		"team.tests: ''":            "want text that is not empty",
		"team.tests: [&a b]":        "found an alias or anchor, want one text",
		"team.test: x":              `unknown key "team.test"`,
		"team: {roles: {qa: null}}": `unknown key "team.roles.qa"`,
	} {
		_, _, err := sources{project: text}.load(t)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	c, _, err := sources{}.load(t)
	if err != nil || c.Number("team.developers") != 4 || c.Number("team.iterations") != 30 || c.Choice("team.mode") != "auto" {
		t.Errorf("defaults: %v", err)
	}
}

func TestEveryKeyOfARoleIsDocumentedAndItsDefaultAndExampleAreAllowed(t *testing.T) {
	for _, k := range roleKeys() {
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") {
			t.Errorf("%s: Doc %q", k.Name, k.Doc)
		}
		for _, text := range []string{k.Default, k.Example} {
			if err := k.check(text); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		}
	}
}

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sources holds the sources of one test: the project's file, the user's file, environment variables
// and flags.
type sources struct {
	project, user string
	env           map[string]string
	flags         []Setting
}

func (s sources) load(t *testing.T) (*Config, string, error) {
	t.Helper()
	root, home := t.TempDir(), t.TempDir()
	write(t, filepath.Join(root, "gaffer.yaml"), s.project)
	write(t, filepath.Join(home, ".config/gaffer/gaffer.yaml"), s.user)
	getenv := func(name string) string {
		if name == "HOME" {
			return home
		}
		return s.env[name]
	}
	c, err := Load(Inputs{Root: root, Getenv: getenv, Flags: s.flags})
	return c, root, err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheStrongestSourceWinsAndIsRemembered(t *testing.T) {
	user, project := "lock_timeout: 1s", "# here\nlock_timeout: 2s"
	env := map[string]string{"GAFFER_LOCK_TIMEOUT": "3s"}
	flags := []Setting{{"lock_timeout", "4s", "--set"}, {"lock_timeout", "5s", "--set"}}
	for _, c := range []struct {
		sources sources
		want    time.Duration
		from    string
	}{
		{sources{}, 30 * time.Second, "default"},
		{sources{user: user}, time.Second, "gaffer.yaml:1"},
		{sources{user: user, project: project}, 2 * time.Second, "gaffer.yaml:2"},
		{sources{user: user, project: project, env: env}, 3 * time.Second, "env GAFFER_LOCK_TIMEOUT"},
		{sources{user: user, project: project, env: env, flags: flags}, 5 * time.Second, "flag --set"},
	} {
		config, _, err := c.sources.load(t)
		if err != nil {
			t.Fatal(err)
		}
		v, err := config.Lookup("lock_timeout")
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Duration("lock_timeout"); got != c.want || !strings.HasSuffix(v.Origin.String(), c.from) {
			t.Errorf("got %v from %s, want %v from %s", got, v.Origin, c.want, c.from)
		}
	}
}

func TestPathsStartAtTheProjectsRoot(t *testing.T) {
	c, root, err := sources{project: "paths: {session: a/../b, team: /abs/./team}"}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"paths.session":  filepath.Join(root, "b"),
		"paths.workflow": filepath.Join(root, ".fctry"),
		"paths.team":     "/abs/team",
	} {
		if got := c.Path(name); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
}

func TestEveryFormOfYAMLForAKeyIsRead(t *testing.T) {
	for text, want := range map[string]string{
		"color: never":                         "never",
		"\"color\": 'never'":                   "never",
		"{color: never}":                       "never",
		"---\ncolor: never\n...\n":             "never",
		"color: >-\n  never\n":                 "never",
		"color: never # not today":             "never",
		"paths:\n  # session: x\ncolor: never": "never",
		"paths.session: x\ncolor: never":       "never",
		"\ufeffcolor: never":                   "never",
		"color: never\r\n":                     "never",
		"# nothing at all":                     "auto",
		"{}":                                   "auto",
		" \n":                                  "auto",
	} {
		c, _, err := sources{project: text}.load(t)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := c.Choice("color"); got != want {
			t.Errorf("%q: color %q, want %q", text, got, want)
		}
	}
}

func TestAMistakeSaysWhereAndWhatIsAllowed(t *testing.T) {
	for text, want := range map[string]string{
		"colour: never":                 "1:1: unknown key \"colour\"",
		"color: auto\npaths:\n  x: y":   "3:3: unknown key \"paths.x\"",
		"color: red":                    "1:8: color: found \"red\", want auto, always or never",
		"color: no":                     "1:8: color: found \"no\", want auto, always or never",
		"color:":                        "1:8: color: found no value, want one value",
		"color: {a: b}":                 "color: found a mapping, want one value",
		"color: [auto]":                 "color: found a list, want one value",
		"paths: here":                   "1:8: paths: found a single value, want keys with values",
		"paths: [here]":                 "paths: found a list, want keys with values",
		"paths: {session: ''}":          "1:18: paths.session: found an empty path, want a folder",
		"paths: {session: \"a\\0b\"}":   "paths.session: found a NUL character",
		"lock_timeout: 30":              "1:15: lock_timeout: found \"30\", want a duration such as",
		"lock_timeout: -1s":             "1:15: lock_timeout: found \"-1s\", want a duration that is not negative",
		"lock_timeout: 0s":              "1:15: lock_timeout: found \"0s\", want a duration of at least 1ms",
		"team: {tests_timeout: 0s}":     "1:23: team.tests_timeout: found \"0s\", want a duration of at least 1ms",
		"- color":                       "1:1: found a list, want keys with values",
		"color: auto\ncolor: never":     "2:1: not YAML: ",
		"color: auto\n---\ncolor: auto": "found a second YAML document, want one",
		"color: &a auto":                "color: found an alias or anchor, want one value",
		"color: !!str auto":             "color: found a tag, want one value",
		"<<: {color: auto}":             "unknown key \"<<\"",
		"? [a]\n: b":                    "not YAML: ",
		"\tcolor: auto":                 "not YAML: ",
		"color: \"auto":                 "not YAML: ",
	} {
		_, _, err := sources{project: text}.load(t)
		if err == nil || !strings.Contains(err.Error(), "gaffer.yaml:") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant …%s", text, err, want)
		}
	}
}

func TestAWeakerSourceIsCheckedAsWell(t *testing.T) {
	_, _, err := sources{user: "color: red", flags: []Setting{{"color", "never", "--color"}}}.load(t)
	if err == nil {
		t.Error("the mistake in the user's file went unseen")
	}
}

func TestAnUnknownKeyHasASuggestion(t *testing.T) {
	_, _, err := sources{project: "path:\n  session: x"}.load(t)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Hint() == "" {
		t.Errorf("%v has no hint", err)
	}
}

func TestEveryKeyIsDocumentedAndItsDefaultAndExampleAreAllowed(t *testing.T) {
	for _, k := range Keys() {
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

func TestARelativeXDGFolderIsIgnored(t *testing.T) {
	vars := map[string]string{"XDG_CONFIG_HOME": "rel", "HOME": "/home/u"}
	if got, want := UserFile(func(n string) string { return vars[n] }), "/home/u/.config/gaffer/gaffer.yaml"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := UserFile(func(string) string { return "" }); got != "" {
		t.Errorf("got %s without a home", got)
	}
}

func TestAgentsAreReadAsAPersonNamesThem(t *testing.T) {
	c, _, err := sources{
		user:    "agents:\n  claude:\n    argv: [old]\n  mine:\n    argv: [\"mine\", \"--fast\"]\n",
		project: "agents:\n  claude:\n    argv: [claude, --verbose]\n    env: {A: b}\n",
	}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	agents := c.Agents()
	if got := agents["claude"]; strings.Join(got.Argv, " ") != "claude --verbose" || got.Env["A"].Text != "b" {
		t.Errorf("claude is %+v", got)
	}
	if got := agents["mine"]; strings.Join(got.Argv, " ") != "mine --fast" {
		t.Errorf("mine is %+v", got)
	}
	v, err := c.Lookup("agents.mine")
	if err != nil || !strings.Contains(v.Text, "--fast") || v.Origin.Line != 4 {
		t.Errorf("shown as %+v, %v", v, err)
	}
}

func TestAnAgentThatCannotWorkIsRefusedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		"agents: [a]":                           "agents: found a list",
		"agents:\n  x:\n    argw: [a]":          "agents.x",
		"agents:\n  x: {}":                      "agent x needs argv",
		"agents:\n  x:\n    argv: y":            "agents.x",
		"agents:\n  claude:\n    prompt: typed": "agent claude: prompt",
	} {
		_, _, err := sources{project: text}.load(t)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "gaffer.yaml:") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q with its place in one line", text, err, want)
		}
	}
}

func TestAServerIsAnAddressOrNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"none":                        "",
		"http://127.0.0.1:4870":       "http://127.0.0.1:4870",
		"https://build.example/fleet": "https://build.example/fleet",
		"http://a:1, http://b:2":      "http://a:1, http://b:2",
	} {
		c, _, err := sources{user: "server: http://other", flags: []Setting{{"server", text, "--server"}}}.load(t)
		if err != nil || c.Server() != want {
			t.Errorf("%q: %q, %v", text, c.Server(), err)
		}
	}
	for _, text := range []string{"build.example:4870", "ftp://x", "https://", "http://a b", "http://u:hush@x:y/", "http://a,", "http://a,b", "http://a,http://u:hush@x:y/", "u:hush@x", "//u:hush@x", "u@b:hush@x"} {
		_, _, err := sources{flags: []Setting{{"server", text, "--server"}}}.load(t)
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAProjectHasTheNameOfItsFolderUnlessItIsGivenOne(t *testing.T) {
	c, root, err := sources{env: map[string]string{"GAFFER_PROJECT": "/some/where"}}.load(t)
	if err != nil || c.ProjectName() != filepath.Base(root) {
		t.Errorf("%q, %v", c.ProjectName(), err)
	}
	c, _, err = sources{project: "project_name: web", user: "server_ca: /etc/ca.pem"}.load(t)
	if err != nil || c.ProjectName() != "web" {
		t.Errorf("%q, %v", c.ProjectName(), err)
	}
	if got := c.File("server_ca"); got != "/etc/ca.pem" {
		t.Errorf("server_ca is %q", got)
	}
	if c.Text("server_fingerprint") != "" {
		t.Errorf("a fingerprint that nobody gave: %q", c.Text("server_fingerprint"))
	}
}

func TestMoneyIsAnAmountAboveZeroOrNone(t *testing.T) {
	for text, want := range map[string]float64{"20": 20, "0.5": 0.5, "none": 0, "0.000001": 0.000001} {
		if got, err := parseMoney(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "1e99", "$5", "5 USD"} {
		if got, err := parseMoney(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

const twoAccounts = `accounts:
  work: {agent: claude, config: ~/.claude-work}
  spare:
    agent: claude
    env:
      ANTHROPIC_API_KEY: {from: env, name: SPARE_KEY}
      NOTE: hush-hush
    reserve: true
    budget: {day: 20, month: 200.5}
`

func TestTheAccountsOfTheUsersFileAreReadInTheirOrder(t *testing.T) {
	c, _, err := sources{user: twoAccounts}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	list := c.Accounts()
	if len(list) != 2 || list[0].Name != "work" || list[1].Name != "spare" {
		t.Fatalf("read %v", list)
	}
	work, spare := list[0], list[1]
	if work.Agent != "claude" || !filepath.IsAbs(work.Config) || filepath.Base(work.Config) != ".claude-work" || work.Reserve {
		t.Errorf("read %+v", work)
	}
	if spare.Env["ANTHROPIC_API_KEY"].Name != "SPARE_KEY" || !spare.Reserve || spare.Budget != (AccountBudget{Day: 20, Month: 200.5}) {
		t.Errorf("read %+v", spare)
	}
}

func TestSecurityAnAccountIsShownWithoutTheTextsOfItsEnvironment(t *testing.T) {
	c, _, err := sources{user: twoAccounts}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	values := c.Values()
	last := values[len(values)-1]
	for _, want := range []string{"agent: claude", "SPARE_KEY", "NOTE: hidden", "reserve: true", "day: 20", "month: 200.5"} {
		if last.Key.Name != "accounts.spare" || !strings.Contains(last.Text, want) {
			t.Errorf("%q is not in %s: %s", want, last.Key.Name, last.Text)
		}
	}
	if strings.Contains(last.Text, "hush") {
		t.Errorf("the value is shown: %s", last.Text)
	}
}

func TestSecurityAProjectsFileCannotAddAccounts(t *testing.T) {
	_, _, err := sources{project: twoAccounts}.load(t)
	var refused *Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "accounts.work: found in a project's file, want it in your own") {
		t.Fatalf("got %v", err)
	}
	if hint := refused.Hint(); !strings.Contains(hint, ".config/gaffer/gaffer.yaml") || strings.Contains(hint, "GAFFER_") {
		t.Errorf("the hint is %q", hint)
	}
}

func TestAMistakeInAnAccountIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"{config: ~/.claude-work}":                              "found no agent",
		"{agent: claude}":                                       "neither config nor env",
		"{agent: claude, config: work}":                         "want an absolute path",
		"{agent: claude, confg: /x}":                            "confg",
		"{agent: claude, env: {KEY: {from: nowhere}}}":          "want env, file or command",
		"{agent: claude, config: /x, budget: {day: -1}}":        "want dollars",
		"{agent: gemini, config: /x}":                           "the config folder of gemini cannot be chosen",
		"{agent: codex, env: {OPENAI_API_KEY: {from: env}}}":    "want CODEX_API_KEY",
		"{agent: mine, config: /x}":                             "the config folder of mine cannot be chosen",
		"[hush-hush]":                                           "accounts.work",
		"{agent: claude, config: /x, env: {KEY: [hush-hush]}}":  "accounts.work",
		"{agent: claude, config: /x, budget: {week: 5}}":        "week",
		"{agent: claude, config: /x, budget: {month: -0.0001}}": "want dollars",
	} {
		_, _, err := sources{user: "agents:\n  mine: {argv: [mine]}\naccounts:\n  work: " + text + "\n"}.load(t)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"a/b", "'a b'", "a,b", "'a:b'", "''"} {
		if _, _, err := (sources{user: "accounts:\n  " + name + ": {agent: claude, config: /x}\n"}).load(t); err == nil || !strings.Contains(err.Error(), "found the name") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAccountOfAnAgentThatAnotherProjectDefinesIsNoMistake(t *testing.T) {
	if _, _, err := (sources{user: "accounts:\n  work: {agent: elsewhere, env: {KEY: {from: env}}}\n"}).load(t); err != nil {
		t.Fatal(err)
	}
}

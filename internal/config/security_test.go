package config

import (
	"strings"
	"testing"
)

func TestSecurityAnAgentsSettingIsShownWithoutTheTextsOfItsEnvironment(t *testing.T) {
	p := sources{user: "agents:\n  mine:\n    argv: [mine, --fast]\n    env:\n      KEY: hush-hush\n      OTHER: {from: env}\n      FILE: {from: file, path: ~/.secrets/key}\n    prompt: argument\n"}
	c, _, err := p.load(t)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Lookup("agents.mine")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mine, --fast", "KEY: hidden", "OTHER: from env", "from file ~/.secrets/key", "prompt: argument"} {
		if !strings.Contains(v.Text, want) {
			t.Errorf("%q is not in %s", want, v.Text)
		}
	}
	if strings.Contains(v.Text, "hush") {
		t.Errorf("the value is shown: %s", v.Text)
	}
	if got := c.Agents()["mine"].Env; got["KEY"].Text != "hush-hush" || got["OTHER"].From != "env" || got["FILE"].Path != "~/.secrets/key" {
		t.Errorf("read as %v", got)
	}
}

func TestSecurityAMistakeInAReferenceOfAnAgentNamesItAndShowsNoValue(t *testing.T) {
	for text, want := range map[string]string{
		"{from: nowhere}":                     "want env, file or command",
		"{from: file}":                        "needs path",
		"{from: file, path: key}":             "absolute path",
		"{from: command}":                     "needs argv",
		"{from: env, path: /x}":               "has no path",
		"{frm: env, token: hush-hush}":        "agents.mine",
		"[hush-hush]":                         "agents.mine",
		"{from: command, argv: [x], name: y}": "has no name",
	} {
		_, _, err := sources{user: "agents:\n  mine:\n    argv: [mine]\n    env:\n      KEY: " + text + "\n"}.load(t)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

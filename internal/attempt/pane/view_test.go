package pane

import (
	"slices"
	"testing"
)

func TestProtocolOutputIsShownAsReadableText(t *testing.T) {
	v, err := newView("claude", "ask")
	if err != nil {
		t.Fatal(err)
	}
	const asks = `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t1",` +
		`"input":{"questions":[{"question":"Which port?","header":"Q","options":[{"label":"8080","description":""},{"label":"9090","description":""}]}]}}}`
	for _, c := range []struct{ line, want string }{
		{`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"go test ./..."}}]}}`, "· Bash: go test ./...\n"},
		{`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"go test ./..."}}]}}`, ""},
		{"a warning on stderr", "a warning on stderr\n"},
		{`{"type":"something new"}`, ""},
		{"", ""},
		{asks, "\n? Which port?\n  1  8080\n  2  9090\nanswer here with a number or a text and Enter, or with 'gaffer answer'\n\n"},
	} {
		if got := v.line([]byte(c.line)); got != c.want {
			t.Errorf("%.60s: %q, want %q", c.line, got, c.want)
		}
	}
	for typed, want := range map[string][]string{
		"2":         {"answer", "r/t", "--option", "2"},
		" 3 ":       {"answer", "r/t", "--", "3"},
		"2x":        {"answer", "r/t", "--", "2x"},
		"use 9090":  {"answer", "r/t", "--", "use 9090"},
		"--deny it": {"answer", "r/t", "--", "--deny it"},
	} {
		if got := v.answer("r/t", typed); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

func TestTheOutputOfACommandIsShownUnchanged(t *testing.T) {
	v, err := newView("command", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := v.line([]byte(`{"any": "thing"}`)); got != "{\"any\": \"thing\"}\n" {
		t.Errorf("%q", got)
	}
	if _, err := newView("none", ""); err == nil {
		t.Error("an agent that nobody knows has a view")
	}
}

func TestParseArgsIsTheInverseOfList(t *testing.T) {
	want := Args{Socket: "/s", Task: "r/t", Kind: "claude", Policy: "", Log: "/a b/log", From: 42}
	if got, err := ParseArgs(want.List()); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][]string{nil, {"a"}, {"a", "b", "c", "d", "e", "many"}} {
		if _, err := ParseArgs(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

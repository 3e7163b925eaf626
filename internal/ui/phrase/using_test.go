package phrase

import (
	"testing"

	"gaffer/fleet"
)

func TestAnAttemptNamesItsAccountAndItsFallback(t *testing.T) {
	for want, a := range map[string]*fleet.Attempt{
		"":                             {},
		"claude/work":                  {Account: "work"},
		"codex for claude":             {Fallback: "codex"},
		"claude:haiku/work for claude": {Fallback: "claude:haiku", Account: "work"},
	} {
		if got := Using(fleet.Task{}, a); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Using(fleet.Task{}, nil); got != "" {
		t.Errorf("without an attempt: %q", got)
	}
}

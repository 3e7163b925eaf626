package fleet

import (
	"testing"
	"time"
)

func TestAnAccountHoldsTasksOnlyIfNoOtherAccountAndNoFallbackIsFree(t *testing.T) {
	now := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	waiting := Task{ID: "a", Agent: "claude", Status: Queued}
	moves := Task{ID: "b", Agent: "claude", Status: Queued, Fallback: []string{"codex"}}
	for _, test := range []struct {
		what  string
		lanes []Lane
		tasks []Task
		want  int
	}{
		{"the program's own account", []Lane{{Name: "claude", Until: later}}, []Task{waiting}, 1},
		{"one account of two", []Lane{{Name: "claude/work", Until: later, Free: true}}, []Task{waiting}, 0},
		{"both accounts", []Lane{{Name: "claude/home", Until: later}, {Name: "claude/work", Until: later}}, []Task{waiting}, 2},
		{"a fallback is free", []Lane{{Name: "claude", Until: later}}, []Task{moves}, 0},
		{"the fallback is paused too", []Lane{{Name: "claude", Until: later}, {Name: "codex", Until: later}}, []Task{moves}, 1},
		{"another agent's account", []Lane{{Name: "codex/work", Until: later}}, []Task{waiting}, 0},
		{"a pause that is over", []Lane{{Name: "claude/work", Until: now}}, []Task{waiting}, 0},
	} {
		if got := (Run{Lanes: test.lanes, Tasks: test.tasks}).Paused(now); len(got) != test.want {
			t.Errorf("%s: %v, want %d", test.what, got, test.want)
		}
	}
}

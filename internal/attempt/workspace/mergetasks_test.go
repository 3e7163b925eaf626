package workspace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/plan"
)

func TestAPlanWithoutItsMergeTasksIsThePlanAsItWasWritten(t *testing.T) {
	p, err := plan.Parse(nil, []byte(`
name: merges
defaults: {worktree: true}
tasks:
  - {id: a, prompt: x}
  - {id: b, prompt: x, branch: feature/b}
  - {id: c, prompt: x, after: [a, b]}
  - {id: d, prompt: x, after: [c]}
  - {id: e, prompt: x, candidates: [claude, codex]}
  - {id: f, prompt: x, worktree: false, after: [e, a]}
  - {id: g, prompt: x, after: [f]}
`), plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	with, err := AddMergeTasks(p, "20260101-000000-ab12")
	if err != nil || len(with.Tasks) == len(p.Tasks) {
		t.Fatalf("%d tasks, %v", len(with.Tasks), err)
	}
	if diff := cmp.Diff(p, RemoveMergeTasks(with, "20260101-000000-ab12")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

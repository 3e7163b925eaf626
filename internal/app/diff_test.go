package app_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// changed runs a task in a worktree. It returns the diffs of the task's attempts, and the run.
func (p testProject) changed(task plan.Task) (list []*fleet.Diff, run fleet.Run) {
	p.t.Helper()
	c, a := p.coordinate(), p.open()
	defer a.Close()
	run = p.work(a, plan.Plan{Name: "n", Source: plan.SourceOrchestrate, Tasks: []plan.Task{task}})
	attempts, err := c.Runs.RunAttempts(p.t.Context(), run.ID)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, at := range attempts {
		list = append(list, at.Diff)
	}
	return list, run
}

func TestAnAttemptSaysWhatItHasChangedInItsWorktree(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   *fleet.Diff
	}{
		"nothing":     {"true", &fleet.Diff{Files: []fleet.FileDiff{}}},
		"uncommitted": {"echo x > new.txt; echo two >> start.txt", &fleet.Diff{Files: []fleet.FileDiff{{Path: "new.txt", Added: 1}, {Path: "start.txt", Added: 1}}, Changed: 2, Added: 2}},
		"committed": {
			"git -c user.name=t -c user.email=t@t rm -q start.txt && git -c user.name=t -c user.email=t@t commit -qm gone; printf '1\\n2\\n' > new.txt",
			&fleet.Diff{Files: []fleet.FileDiff{{Path: "new.txt", Added: 2}, {Path: "start.txt", Removed: 1}}, Changed: 2, Added: 2, Removed: 1},
		},
		"failed":    {"echo x > new.txt; exit 3", &fleet.Diff{Files: []fleet.FileDiff{{Path: "new.txt", Added: 1}}, Changed: 1, Added: 1}},
		"odd names": {"printf x > \"$(printf 'a\\001\\377b')\"", &fleet.Diff{Files: []fleet.FileDiff{{Path: "a\ufffd\ufffdb", Added: 1}}, Changed: 1, Added: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			task := shell("one", c.script)
			task.Worktree = true
			list, run := newRepository(t).changed(task)
			if diff := cmp.Diff([]*fleet.Diff{c.want}, list); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, run.Tasks[0].Attempt.Diff); diff != "" {
				t.Errorf("in the run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfVeryManyFilesAllAreCountedAndSomeListed(t *testing.T) {
	t.Parallel()
	task := shell("one", "for i in $(seq 350); do echo x > f$i; done")
	task.Worktree = true
	list, _ := newRepository(t).changed(task)
	if len(list) != 1 || list[0] == nil || list[0].Changed != 350 || list[0].Added != 350 || len(list[0].Files) != fleet.MostFiles {
		t.Errorf("%+v", list)
	}
}

func TestATaskThatWorksInTheProjectItselfHasNoDiff(t *testing.T) {
	t.Parallel()
	list, _ := newRepository(t).changed(shell("one", "echo x > new.txt"))
	if fmt.Sprint(list) != "[<nil>]" {
		t.Errorf("%v", list)
	}
}

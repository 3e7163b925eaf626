package runview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
)

func TestTheSummaryNamesBranchesAndWhatToMerge(t *testing.T) {
	task := func(id, branch string, after ...string) fleet.Task {
		return fleet.Task{ID: id, Status: fleet.Complete, Branch: branch, Worktree: "/p/trees/" + id, After: after}
	}
	r := fleet.Run{Status: fleet.Complete, Tasks: []fleet.Task{
		task("first", "g/first"), task("other", "g/other"),
		{ID: "merge-1", Status: fleet.Complete, After: []string{"first", "other"}},
		task("last", "g/last", "merge-1"), task("alone", "g/al'one"), task("same", "g/same"), task("gone", "g/gone"), task("merged", "g/merged"),
	}}
	at := summaryPlace{
		dir:    "/p",
		exists: func(path string) bool { return path != "/p/trees/gone" && path != "/p/trees/merged" },
		branches: map[string]bool{
			"g/first": true, "g/other": true, "g/last": true, "g/al'one": true, "g/same": false, "g/merged": false, "main": false,
		},
	}
	places := []string{
		"  branch    g/first in trees/first", "  branch    g/other in trees/other", "  branch    g/last in trees/last",
		"  branch    g/al'one in trees/alone", "  branch    g/same in trees/same", "  branch    g/merged",
	}
	if diff := cmp.Diff(places, branchLines(r, at)); diff != "" {
		t.Errorf("branches (-want +got)\n%s", diff)
	}
	const brings = "' brings the work into the branch that you have checked out"
	commands := []string{"next: 'git merge g/last" + brings, `next: 'git merge 'g/al'\''one'` + brings}
	if diff := cmp.Diff(commands, mergeCommands(r, at)); diff != "" {
		t.Errorf("commands (-want +got)\n%s", diff)
	}
	r.Status = fleet.Failed
	if got := mergeCommands(r, at); len(got) != 0 {
		t.Errorf("a run that failed says %q", got)
	}
}

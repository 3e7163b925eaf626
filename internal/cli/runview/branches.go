package runview

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
	"gaffer/internal/text/display"
)

// branchesWithin is the timeout for the git commands that the summary of a run needs.
const branchesWithin = 10 * time.Second

// branches returns a map with the names of the branches in the project's repository as keys. A
// value is true if the branch has commits that are not in the checked-out branch. branches returns
// nil if no task of the run has a branch, if the run is on a server, or if git fails or does not
// answer in time. If the result is nil, the summary names only branches whose worktree exists.
func (v *View) branches(r fleet.Run) map[string]bool {
	named := false
	for _, task := range r.Tasks {
		named = named || task.Branch != ""
	}
	if !named || v.remote() {
		return nil
	}
	root, err := v.env.Project()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), branchesWithin)
	defer cancel()
	repo, err := worktree.Open(ctx, root.Root)
	if err != nil {
		return nil
	}
	list, _ := repo.Branches(ctx)
	return list
}

// Changes counts the changes that the tasks of a run have made, by their state. It returns zero
// values if no task has a branch, if the run is on a server, or if git fails or does not answer in
// time.
func (v *View) Changes(r fleet.Run) fleet.Changes {
	if v.App == nil || !slices.ContainsFunc(r.Tasks, func(t fleet.Task) bool { return t.Branch != "" }) {
		return fleet.Changes{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), branchesWithin)
	defer cancel()
	c, err := v.App.Landing.Overview(ctx, r.ID)
	if err != nil {
		return fleet.Changes{}
	}
	return c
}

// branchLines returns a line for each existing branch or worktree of the run's tasks, at most
// maxListed lines.
func branchLines(r fleet.Run, at summaryPlace) (lines []string) {
	seen := map[string]bool{}
	for _, t := range r.Tasks {
		if t.Worktree == "" || seen[t.Worktree] || len(lines) == maxListed {
			continue
		}
		seen[t.Worktree] = true
		there, path := at.exists(t.Worktree), display.Printable(relative(at.dir, t.Worktree))
		_, branch := at.branches[t.Branch]
		switch {
		case t.Branch == "" && there: // no branch is recorded: print only the worktree
			lines = append(lines, "  worktree  "+path)
		case there:
			lines = append(lines, "  branch    "+display.Printable(t.Branch)+" in "+path)
		case branch:
			lines = append(lines, "  branch    "+display.Printable(t.Branch))
		}
	}
	return lines
}

// mergeCommands returns lines with the git commands that merge the work of a complete run into the
// branch that the user has checked out. It leaves out a branch if the branch of a later task
// contains it, or if its commits are already in the checked-out branch. For a run of 'gaffer team'
// it returns no lines, because that command prints its own.
func mergeCommands(r fleet.Run, at summaryPlace) (lines []string) {
	if r.Status != fleet.Complete || r.Team != "" {
		return nil
	}
	tasks := make(map[string]fleet.Task, len(r.Tasks))
	for _, t := range r.Tasks {
		tasks[t.ID] = t
	}
	inLater := map[string]bool{} // ids of tasks whose work is contained in the branch of a later task
	var follow func(after []string)
	follow = func(after []string) {
		for _, id := range after {
			if !inLater[id] {
				inLater[id] = true
				follow(tasks[id].After)
			}
		}
	}
	for _, t := range r.Tasks {
		if t.Branch != "" {
			follow(t.After)
		}
	}
	listed := map[string]bool{}
	for _, t := range r.Tasks {
		if !at.branches[t.Branch] || inLater[t.ID] || listed[t.Branch] || len(lines) == maxListed {
			continue
		}
		listed[t.Branch] = true
		lines = append(lines, fmt.Sprintf("next: 'git merge %s' brings the work into the branch that you have checked out", display.Printable(git.Quote(t.Branch))))
	}
	return lines
}

package runview

import (
	"context"
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/text/display"
)

// branchesWithin bounds how long a summary waits for git.
const branchesWithin = 10 * time.Second

// branches asks git for the branches of the project if the run has any. Without an
// answer the summary names those whose worktree is there.
func (t *View) branches(r fleet.Run) map[string]bool {
	named := false
	for _, task := range r.Tasks {
		named = named || task.Branch != ""
	}
	if !named || t.far() {
		return nil
	}
	root, err := t.env.Project()
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

// workPlaces are the branches that tasks have worked on, and their worktrees.
func workPlaces(r fleet.Run, at site) (lines []string) {
	seen := map[string]bool{}
	for _, t := range r.Tasks {
		if t.Worktree == "" || seen[t.Worktree] || len(lines) == maxTold {
			continue
		}
		seen[t.Worktree] = true
		there, path := at.there(t.Worktree), display.Printable(relative(at.dir, t.Worktree))
		_, branch := at.branches[t.Branch]
		switch {
		case t.Branch == "" && there: // of a run that an older gaffer has made
			lines = append(lines, "  worktree  "+path)
		case there:
			lines = append(lines, "  branch    "+display.Printable(t.Branch)+" in "+path)
		case branch:
			lines = append(lines, "  branch    "+display.Printable(t.Branch))
		}
	}
	return lines
}

// mergeCommands are what brings the work of a complete run into the branch that the
// person has checked out. A branch whose work is in a later one, or is checked out
// already, needs none.
func mergeCommands(r fleet.Run, at site) (lines []string) {
	if r.Status != fleet.Complete || r.Team != "" {
		return nil
	}
	tasks := make(map[string]fleet.Task, len(r.Tasks))
	for _, t := range r.Tasks {
		tasks[t.ID] = t
	}
	inLater := map[string]bool{} // tasks, with all that come before them
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
	told := map[string]bool{}
	for _, t := range r.Tasks {
		if !at.branches[t.Branch] || inLater[t.ID] || told[t.Branch] || len(lines) == maxTold {
			continue
		}
		told[t.Branch] = true
		lines = append(lines, fmt.Sprintf("next: 'git merge %s' brings the work into the branch that you have checked out", display.Printable(worktree.Quote(t.Branch))))
	}
	return lines
}

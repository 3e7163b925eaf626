package merge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// Landing describes how [Land] has merged the work of a task into a branch. It is stored as JSON in
// the message of a commit. The field Undo is the name of the ref that points to this commit. The
// ref is created in the transaction that moves the branch, or just before the branch moves.
type Landing struct {
	Run    string    `json:"run"`
	Task   string    `json:"task"`
	Into   string    `json:"into"`
	Method Method    `json:"method"`
	Before string    `json:"before"` // id of the target branch's last commit before the merge
	After  string    `json:"after"`  // id of the target branch's last commit after the merge
	Branch string    `json:"branch"`
	Tip    string    `json:"tip"` // id of the last commit of the task's branch that was merged
	At     time.Time `json:"at"`
	Revert string    `json:"revert,omitempty"` // id of the commit that reverts the merge; empty if there is none

	Undo    string `json:"-"` // name of the ref that keeps this Landing and its commits
	Present bool   `json:"-"` // the branch Into contains the commit After; always false if the merge was undone
	Earlier bool   `json:"-"` // set by Land: an earlier call had already merged the same work
	// Updated is the path of the worktree whose files were updated because it has the branch Into
	// checked out. It is empty if no files were updated. Land and Undo set it.
	Updated string `json:"-"`
}

const (
	undoPrefix   = "refs/gaffer/undo/"   // prefix of the refs of merges by Land that were not undone
	undonePrefix = "refs/gaffer/undone/" // prefix of the refs of merges by Land that were undone
)

// recordLanding creates a commit whose message contains the landing as JSON, and returns the id of
// that commit. The caller makes a ref point to that commit. The parents of the commit are the
// commits that the landing names, so that git does not delete those.
func recordLanding(ctx context.Context, g git.Client, l Landing) (string, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	tree, err := g.Resolve(ctx, l.Before+"^{tree}")
	if err != nil {
		return "", err
	}
	parents := slices.Compact([]string{l.Before, l.After, l.Tip})
	return g.CommitTree(ctx, tree, "gaffer: landing\n\n"+string(text)+"\n", parents...)
}

// markUndone marks a landing as undone. To do that, it deletes the ref undo and creates a ref with
// the prefix undonePrefix, which points to the commit that record names. This happens in one ref
// transaction. The parameter steps has further commands of git update-ref for that transaction.
func markUndone(ctx context.Context, g git.Client, undo, record string, steps ...string) error {
	undone := undonePrefix + strings.TrimPrefix(undo, undoPrefix)
	return g.UpdateRefs(ctx, "gaffer: undo", fmt.Sprintf("delete %s\nupdate %s %s\n", undo, undone, record)+strings.Join(steps, ""))
}

// undone reports whether the merge that the landing describes was undone.
func (l Landing) undone() bool { return strings.HasPrefix(l.Undo, undonePrefix) }

// number returns the number at the end of the name of the landing's ref. The task's second landing
// has the number 2.
func (l Landing) number() int {
	n, _ := strconv.Atoi(l.Undo[strings.LastIndexByte(l.Undo, '/')+1:]) // cannot fail: gaffer's refs end with a number
	return n
}

// newestNumber returns the number of the task's newest [Landing], or 0 if the task has none.
func newestNumber(list []Landing, task string) int {
	newest := 0
	for _, l := range list {
		if l.Task == task {
			newest = max(newest, l.number())
		}
	}
	return newest
}

// Landings returns the merges by [Land] of a run's tasks that were not undone, oldest first. If the
// parameter run is empty, it returns those of all runs. If the field Present of a [Landing] is
// false, the target branch does not contain this merge: a crash has prevented it, or another
// program has moved the branch back.
func Landings(ctx context.Context, repo *worktree.Repo, run string) ([]Landing, error) {
	list, err := landings(ctx, repo.Git, run)
	return slices.DeleteFunc(list, Landing.undone), err
}

// landings returns all merges by [Land] of a run's tasks, including those that were undone. If the
// parameter run is empty, it returns those of all runs.
func landings(ctx context.Context, g git.Client, run string) ([]Landing, error) {
	args := []string{"for-each-ref", "--format=%(refname)%00%(contents:body)%00"}
	for _, prefix := range []string{undoPrefix, undonePrefix} {
		if run != "" {
			prefix += git.RefPart(run) + "/"
		}
		args = append(args, prefix)
	}
	out, err := g.Run(ctx, args...)
	if err != nil {
		return nil, err
	}
	var list []Landing
	parts := strings.Split(out, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		var l Landing
		if err := json.Unmarshal([]byte(parts[i+1]), &l); err != nil {
			continue // skip this ref, which another program has created
		}
		l.Undo = strings.TrimSpace(parts[i])
		if !git.IsID(l.Before) || !git.IsID(l.After) || !git.IsID(l.Tip) || run != "" && l.Run != run {
			continue
		}
		if !l.undone() {
			tip, err := g.CommitID(ctx, git.Heads+l.Into)
			if err != nil {
				return nil, err
			}
			if tip != "" {
				if l.Present, err = g.Contains(ctx, tip, l.After); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b Landing) int {
		return cmp.Or(a.At.Compare(b.At), a.number()-b.number())
	})
	return list, nil
}

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

// Landing describes how the work of a task was brought into a branch. The ref Undo points to a
// commit whose message contains the Landing as JSON. The ref is created in the transaction that
// moves the branch, or just before the branch moves.
type Landing struct {
	Run    string    `json:"run"`
	Task   string    `json:"task"`
	Into   string    `json:"into"`
	Method Method    `json:"method"`
	Before string    `json:"before"` // id of the tip of Into before the landing
	After  string    `json:"after"`  // id of the tip of Into after the landing
	Branch string    `json:"branch"`
	Tip    string    `json:"tip"` // id of the last commit of Branch that was landed
	At     time.Time `json:"at"`
	Revert string    `json:"revert,omitempty"` // id of the commit that reverts the landing; empty if there is none

	Undo    string `json:"-"` // name of the ref that keeps the commits of the landing
	Present bool   `json:"-"` // Into contains After; always false for landings that were taken back
	Earlier bool   `json:"-"` // set by Land: an earlier call has landed the same work
	// Updated is set by Land and Undo. It is the path of the worktree that has Into checked out and
	// whose files were therefore updated. It is empty if no files were updated.
	Updated string `json:"-"`
}

const (
	undoPrefix   = "refs/gaffer/undo/"   // prefix of the refs of landings that were not taken back
	undonePrefix = "refs/gaffer/undone/" // prefix of the refs of landings that were taken back
)

// recordLanding creates the commit that an undo ref points to, and returns its id. Its message
// contains the landing as JSON. Its parents are the landing's commits, so that git does not delete
// them.
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

// markUndone replaces the undo ref of a landing by an undone ref. The undone ref points to the
// commit that record names. This happens in one ref transaction, together with steps, which are
// further commands for git update-ref.
func markUndone(ctx context.Context, g git.Client, undo, record string, steps ...string) error {
	undone := undonePrefix + strings.TrimPrefix(undo, undoPrefix)
	return g.UpdateRefs(ctx, "gaffer: undo", fmt.Sprintf("delete %s\nupdate %s %s\n", undo, undone, record)+strings.Join(steps, ""))
}

// undone reports whether the landing was taken back.
func (l Landing) undone() bool { return strings.HasPrefix(l.Undo, undonePrefix) }

// number returns the number at the end of the undo ref's name. The task's second landing has the
// number 2.
func (l Landing) number() int {
	n, _ := strconv.Atoi(l.Undo[strings.LastIndexByte(l.Undo, '/')+1:]) // cannot fail: gaffer's refs end with a number
	return n
}

// newestNumber returns the number of the task's newest landing, or 0 if the task has no landing.
func newestNumber(list []Landing, task string) int {
	newest := 0
	for _, l := range list {
		if l.Task == task {
			newest = max(newest, l.number())
		}
	}
	return newest
}

// Landings returns the landings of a run that were not taken back, oldest first. An empty run means
// all runs. If Present is false in a landing, its branch does not contain it: a crash has prevented
// the landing, or another program has moved the branch back.
func Landings(ctx context.Context, repo *worktree.Repo, run string) ([]Landing, error) {
	list, err := landings(ctx, repo.Git, run)
	return slices.DeleteFunc(list, Landing.undone), err
}

// landings returns all landings of a run, including those that were taken back. An empty run means
// all runs.
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

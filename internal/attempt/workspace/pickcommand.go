package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/selection"
)

// PickCommand is the name of a hidden command of gaffer. It picks one of several candidates, which
// are tasks in which different agents do the same work. Its argument is the path of a file with a
// [selection.PickInput].
const PickCommand = "choose"

// PickQuestion is a regular expression for the line in which [PickCommand] asks the user to pick.
// PickCommand reads the answer as a line of its stdin.
const PickQuestion = "^" + pickPrefix + "(.*)"

const pickPrefix = "gaffer asks: "

// PickMain runs the command [PickCommand]. It works in the current folder, and returns the exit
// code.
func PickMain(ctx context.Context, file string, in io.Reader, out, errs io.Writer) int {
	root, err := os.Getwd()
	if err == nil {
		err = RunPick(ctx, root, file, in, out)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(errs, err)
	if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) {
		fmt.Fprintln(errs, hint.Hint())
	}
	return 1
}

// RunPick picks a candidate and merges its branch into the branch of the task that picks. If an
// earlier attempt has already picked a candidate, RunPick picks the same one again, without asking
// the user. It knows this from the input, or because the branch of the task that picks contains the
// candidate's commits.
func RunPick(ctx context.Context, root, file string, in io.Reader, out io.Writer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	var s selection.PickInput
	// Ignore text after the JSON, such as the reason why the last attempt failed.
	err = json.NewDecoder(f).Decode(&s)
	_ = f.Close() // ignore the error: the file was only read
	if err != nil {
		return fmt.Errorf("what to pick from: %w", err)
	}
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		return err
	}
	trees, err := repo.List(ctx, s.Run)
	if err != nil {
		return err
	}
	find := func(task string) (worktree.Tree, error) {
		at := slices.IndexFunc(trees, func(t worktree.Tree) bool { return t.Task == task })
		if at < 0 {
			return worktree.Tree{}, fmt.Errorf("task %s has no worktree", task)
		}
		return trees[at], nil
	}
	own, err := find(s.Task)
	if err != nil {
		return err
	}
	id, why := s.Picked, "it was picked before, and its newer work is taken"
	if id == "" {
		if id, why, err = picked(ctx, repo, s, own, find); err != nil {
			return err
		}
	}
	if id == "" {
		if id, why, err = choose(s, in, out); err != nil {
			return err
		}
	}
	winner, err := find(id)
	if err != nil {
		return err
	}
	if err := CommitWork(ctx, repo, winner, ""); err != nil {
		return err
	}
	_, err = merge.Branches(ctx, repo, merge.Spec{Into: own.Branch, Branches: []string{winner.Branch}, Titles: []string{MergeTitle(id, "")}})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s%s: %s\n", fleet.PickedPrefix, id, strings.ReplaceAll(why, "\n", " "))
	return nil
}

// picked returns the candidate that an earlier attempt has picked: the one whose commits the branch
// of the picking task contains. id is empty if there is none.
func picked(ctx context.Context, repo *worktree.Repo, s selection.PickInput, own worktree.Tree, find func(string) (worktree.Tree, error)) (id, why string, err error) {
	tip, err := repo.Base(ctx, own.Branch)
	if err != nil || tip.Commit == own.Base.Commit {
		return "", "", err
	}
	for _, c := range s.CompleteCandidates() {
		t, err := find(c.Task)
		if err != nil {
			return "", "", err
		}
		at, err := repo.Base(ctx, t.Branch)
		if err != nil {
			return "", "", err
		}
		if at.Commit == own.Base.Commit {
			// The candidate has no commits of its own: its branch ends where the branch of the
			// picking task starts. So Contains would return true even if no attempt has picked it.
			continue
		}
		if in, err := repo.Contains(ctx, own.Branch, at.Commit); err != nil || in {
			return c.Task, "an earlier attempt has picked it", err
		}
	}
	return "", "", nil
}

// choose picks a candidate by the rule in s. If the rule does not decide, choose asks the user. It
// repeats the question until the user's answer names a candidate.
func choose(s selection.PickInput, in io.Reader, out io.Writer) (id, why string, err error) {
	if id, why, ok := s.Decide(); ok {
		return id, why, nil
	}
	if len(s.CompleteCandidates()) == 0 {
		return "", "", fmt.Errorf("no candidate of %s is complete", s.Task)
	}
	lines := bufio.NewScanner(in)
	for question := s.Question(); ; {
		fmt.Fprintln(out, pickPrefix+strings.ReplaceAll(question, "\n", " "))
		if !lines.Scan() {
			return "", "", errors.Join(errors.New("the question was not answered"), lines.Err())
		}
		id, err := s.FindChosen(lines.Text())
		if err == nil {
			return id, "the user has picked it", nil
		}
		question = err.Error() + ". " + s.Question()
	}
}

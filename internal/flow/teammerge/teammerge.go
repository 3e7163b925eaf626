// Package teammerge is the program that merges the work of a team of agents. Each group of the
// team's tasks has its own branch, and the team's session has a branch for all approved work.
//
// Each start of the program merges one branch. While the team works, the program merges the branch
// of a group into the session's branch, and tests the merge result. When all groups are complete,
// it merges the session's branch into the user's branch, if the user wants that.
//
// The program runs as a task of the engine. It can be killed at any time. When it is started again,
// it skips the work that was completed. The next merge deletes the temporary worktree and the files
// that an interrupted merge has left.
package teammerge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"gaffer/internal/attempt/merge"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teamstate"
)

// Spec is the input of the program, as JSON.
type Spec struct {
	Run string `json:"run"`
	// Tree is the id of the worktree whose branch is merged. It is also the id of the group of
	// tasks that works there. Tree is empty if Deliver is set.
	Tree    string   `json:"tree,omitempty"`
	Branch  string   `json:"branch"` // name of the branch that is merged into the branch Into
	Into    string   `json:"into"`
	Tests   []string `json:"tests,omitempty"` // shell commands that test the merge result
	Scratch string   `json:"scratch"`         // parent folder of the worktree in which the merge result is tested
	Message string   `json:"message,omitempty"`

	// Deliver is true if Into is the user's branch. It changes what happens if this branch cannot
	// be updated: the program returns the outcome "conflict" instead of an error. After an error,
	// the engine would repeat the merge, which would not help.
	Deliver bool `json:"deliver,omitempty"`
}

// Main runs [Run] as a program in the current folder and returns the exit code. On SIGINT and
// SIGTERM, it stops the running test.
func Main(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := os.Getwd()
	if err == nil {
		err = Run(ctx, root, in, out)
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

// Run reads a [Spec] from in and performs the merge that it describes, in the project folder root.
// It prints its progress for the user and, as its last line, a [teamstate.Merged] as JSON for
// gaffer. It returns an error if the Spec is not valid, or if the merge may succeed when it is
// tried again.
func Run(ctx context.Context, root string, in io.Reader, out io.Writer) error {
	var s Spec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("merge spec: %w", err)
	}
	if s.Run == "" || s.Branch == "" || s.Into == "" {
		return fmt.Errorf("merge spec: run %q, branch %q into %q: one is missing", s.Run, s.Branch, s.Into)
	}
	repo, err := worktree.Open(ctx, root)
	if err != nil {
		return err
	}
	lines := &lineWriter{to: out}
	merged, err := s.do(ctx, repo, lines)
	if err != nil {
		return err
	}
	last, err := lastLine(merged)
	if err != nil {
		return err
	}
	lines.say("%s", last)
	return lines.err
}

// do first commits work that agents have left uncommitted, and then merges the branch. If work on
// this branch cannot be committed, do does not merge. It returns an error only if the merge may
// succeed when it is tried again; other problems, such as conflicts, are part of the result.
func (s Spec) do(ctx context.Context, repo *worktree.Repo, out *lineWriter) (teamstate.Merged, error) {
	var result merge.Result
	err := s.commitWork(ctx, repo, out)
	if err == nil {
		result, err = merge.Branches(ctx, repo, s.merge(out))
	}
	merged, err := s.outcome(result, err)
	if err == nil {
		out.say("%s", describe(s, result, merged))
	}
	return merged, err
}

func (s Spec) merge(out *lineWriter) merge.Spec {
	m := merge.Spec{Into: s.Into, Branches: []string{s.Branch}, Message: s.Message, Scratch: s.Scratch}
	if s.Tree != "" {
		m.Titles = []string{"Merge group " + s.Tree}
	}
	if len(s.Tests) > 0 {
		m.Check = func(ctx context.Context, dir string) error { return runTests(ctx, dir, s.Tests, out) }
	}
	return m
}

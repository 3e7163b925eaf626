// Package teammerge is the program that brings together what a team has made:
// a group's branch into the session's with the tests, and at the end the
// session's into a person's. It runs as a task of the engine. It may be killed
// at any moment and is started again then: what is done is passed over, and
// what was not finished leaves nothing behind.
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

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/flow/teamstate"
)

// Spec is what the program reads from its input, as JSON.
type Spec struct {
	Run     string   `json:"run"`
	Tree    string   `json:"tree,omitempty"` // the task whose worktree the group works in, which is the group's name
	Branch  string   `json:"branch"`         // what is merged
	Into    string   `json:"into"`
	Tests   []string `json:"tests,omitempty"` // shell commands
	Scratch string   `json:"scratch"`         // the folder in which what is merged is tested
	Message string   `json:"message,omitempty"`

	// Deliver says that Into is a person's branch. What is in its way there is
	// for the person, and an outcome; trying again would not help.
	Deliver bool `json:"deliver,omitempty"`
}

// Main is [Run] as a program: it works in the folder it is started in, ends its
// tests when it is told to stop, and returns the exit code.
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

// Run does what a spec says, in the project at root. It prints what it does
// for people, and as its last line a [teamstate.Merged] for gaffer. An error is
// something that may be different when it is tried again.
func Run(ctx context.Context, root string, in io.Reader, out io.Writer) error {
	var s Spec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("what to merge: %w", err)
	}
	if s.Run == "" || s.Branch == "" || s.Into == "" {
		return fmt.Errorf("what to merge: run %q, branch %q into %q: one is missing", s.Run, s.Branch, s.Into)
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

// do merges, unless what the group has left cannot be merged.
func (s Spec) do(ctx context.Context, repo *worktree.Repo, out *lineWriter) (teamstate.Merged, error) {
	var result worktree.MergeResult
	err := s.settle(ctx, repo, out)
	if err == nil {
		result, err = repo.Merge(ctx, s.merge(out))
	}
	merged, err := s.outcome(result, err)
	if err == nil {
		out.say("%s", describe(s, result, merged))
	}
	return merged, err
}

func (s Spec) merge(out *lineWriter) worktree.MergeSpec {
	m := worktree.MergeSpec{Into: s.Into, Branches: []string{s.Branch}, Message: s.Message, Scratch: s.Scratch}
	if s.Tree != "" {
		m.Titles = []string{"Merge group " + s.Tree}
	}
	if len(s.Tests) > 0 {
		m.Check = func(ctx context.Context, dir string) error { return runTests(ctx, dir, s.Tests, out) }
	}
	return m
}

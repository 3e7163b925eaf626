// Package diff implements the command 'gaffer diff': it prints what a task has changed.
package diff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// options holds the values of the command's flags and its arguments.
type options struct {
	stat        bool
	attempt     int
	sinceReview bool
	context     int
	noPager     bool
	json        bool
	paths       []string
}

// New creates the command 'gaffer diff'.
func New(e *env.Env) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:                   "diff TASK [--stat] [--attempt N] [--since-review] [PATH…]",
		DisableFlagsInUseLine: true,
		Short:                 "Show what a task has changed",
		Long: `Show what a task has changed in its worktree since its branch started, with files
that it did not commit. With paths, only these files or folders; a path may have
the wildcards * and ?.

On a terminal the diff is shown in the program of PAGER, or in less, with the
changed words marked, and what could steer the terminal is left out. Elsewhere it
is a diff that 'git apply' reads.

--attempt shows the change at the end of an attempt. --since-review shows what is
new since you sent the change back or approved it.`,
		Example: `  gaffer diff api
  gaffer diff api --stat
  gaffer diff api internal/server '*.md'
  gaffer diff abc1/api --since-review
  gaffer diff api --json | jq -r '.change.files[].path'`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: openfleet.ChangedPaths(e),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.stat, "stat", false, "only the files, with their numbers of lines")
	flags.IntVar(&o.attempt, "attempt", 0, "the change at the end of attempt `N`, from 1")
	flags.BoolVar(&o.sinceReview, "since-review", false, "only what is new since your last review")
	flags.IntVarP(&o.context, "unified", "U", 0, "`N` lines around each change (default 3)")
	flags.BoolVar(&o.noPager, "no-pager", false, "print to the terminal directly")
	openfleet.FleetFlags(e, cmd)
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case flags.Changed("attempt") && o.attempt < 1:
			return exit.Usage(fmt.Errorf("--attempt %d: attempts are counted from 1", o.attempt))
		case flags.Changed("unified") && o.context < 1:
			return exit.Usage(fmt.Errorf("--unified %d: want 1 or more", o.context))
		case o.attempt > 0 && o.sinceReview:
			return exit.Usage(errors.New("--attempt and --since-review are two different changes: choose one"))
		}
		for _, p := range args[1:] {
			if _, err := path.Match(p, ""); err != nil {
				return exit.Usage(fmt.Errorf("path %s: %w", display.Printable(p), err))
			}
		}
		o.json, o.paths = *asJSON, args[1:]
		return openfleet.WithFleet(cmd.Context(), e, func(f openfleet.Fleet) error { return show(cmd.Context(), e, f, args[0], o) })
	}
	return cmd
}

func show(ctx context.Context, e *env.Env, f openfleet.Fleet, name string, o options) error {
	t, err := f.FindTask(ctx, name)
	if err != nil {
		return err
	}
	v, err := f.Change(ctx, t.Run, t.ID, fleet.ChangeQuery{Attempt: o.attempt})
	if err != nil {
		return err
	}
	from := ""
	if o.sinceReview {
		if from = v.Review.Seen; from == "" {
			return exit.WithHint(exit.NotFound(fmt.Errorf("task %s was not sent back or approved yet", display.Printable(t.ID))), "leave out --since-review for the whole change")
		}
		if v, err = f.Change(ctx, t.Run, t.ID, fleet.ChangeQuery{Since: from}); err != nil {
			return err
		}
	}
	if len(o.paths) > 0 {
		if err := selectFiles(&v.Change, o.paths); err != nil {
			return err
		}
	}
	read := func(file fleet.ChangeFile) (fleet.FileChange, error) {
		return f.ChangedFile(ctx, t.Run, t.ID, fleet.FileQuery{Path: file.Path, Tree: v.Change.Tree, From: from, Context: o.context})
	}
	var missing []string // files whose content the diff does not contain
	if o.json {
		answer := struct {
			fleet.TaskChange
			Diffs []fleet.FileChange `json:"diffs,omitempty"` // diffs of the files; empty with --stat
		}{TaskChange: v}
		for _, file := range v.Change.Files {
			if o.stat {
				break
			}
			d, err := read(file)
			if err != nil {
				return err
			}
			answer.Diffs = append(answer.Diffs, d)
			missing = appendMissing(missing, d)
		}
		if err := e.PrintJSON(answer); err != nil {
			return err
		}
		sayMissing(e, v.Change, missing)
		return nil
	}
	if len(v.Change.Files) == 0 {
		what := "since its branch started"
		if o.sinceReview {
			what = "since your last review"
		}
		e.Talk("task %s has changed nothing %s", display.Printable(t.ID), what)
		return nil
	}
	terminal := display.IsTerminal(e.Out)
	err = withPager(e, o.noPager, func(out io.Writer) error {
		p := printer{out: out, color: e.Color(e.Out), terminal: terminal}
		if o.stat {
			return p.stat(v.Change)
		}
		for _, file := range v.Change.Files {
			d, err := read(file)
			if err == nil {
				err = p.file(d)
			}
			if err != nil {
				return err
			}
			missing = appendMissing(missing, d)
		}
		return nil
	})
	// On a terminal, no warning is needed: the diff itself says which content is missing.
	if err == nil && !terminal {
		sayMissing(e, v.Change, missing)
	}
	return err
}

// appendMissing appends the name of a file to list if the file's new content is not in the diff,
// because the file is binary or large.
func appendMissing(list []string, d fleet.FileChange) []string {
	if (d.Binary || d.TooLarge != "") && d.OldBlob != d.NewBlob {
		list = append(list, display.Printable(d.Path))
	}
	return list
}

// sayMissing prints a warning that names the files whose content is not in the diff, because then
// the diff is not a complete patch.
func sayMissing(e *env.Env, c fleet.Change, files []string) {
	if len(files) == 0 {
		return
	}
	const most = 5
	names := strings.Join(files[:min(len(files), most)], ", ")
	if more := len(files) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	e.Talk("the diff has no content of binary and large files: %s; 'git show %.12s:FILE' prints it", names, c.Tree)
}

// selectFiles removes from a change all files that no path selects, and updates the change's line
// counts. A path selects a file if the file's new or old name is equal to the path, is below it, or
// matches it as a glob. selectFiles returns an error if a path selects no file.
func selectFiles(c *fleet.Change, paths []string) error {
	found, used := []fleet.ChangeFile{}, map[string]bool{}
	c.Added, c.Removed = 0, 0
	for _, f := range c.Files {
		fits := false
		for _, want := range paths {
			if isAt(f.Path, want) || f.From != "" && isAt(f.From, want) {
				fits, used[want] = true, true
			}
		}
		if fits {
			found = append(found, f)
			c.Added, c.Removed = c.Added+f.Added, c.Removed+f.Removed
		}
	}
	c.Files = found
	for _, want := range paths {
		if !used[want] {
			return exit.WithHint(exit.NotFound(fmt.Errorf("path %s: the change has no such file", display.Printable(want))), "'gaffer diff TASK --stat' lists the files; a path begins at the root of the repository")
		}
	}
	return nil
}

// isAt reports whether the path file is equal to the path pattern, is below it, or matches it as a
// glob. If pattern is a glob without a slash, it is enough that it matches the last element of
// file: "*.go" matches "cmd/main.go".
func isAt(file, pattern string) bool {
	pattern = path.Clean(pattern)
	if pattern == "." || file == pattern || strings.HasPrefix(file, pattern+"/") {
		return true
	}
	whole, _ := path.Match(pattern, file) // ignore the error: New has checked the pattern
	base, _ := path.Match(pattern, path.Base(file))
	return whole || base && !strings.Contains(pattern, "/")
}

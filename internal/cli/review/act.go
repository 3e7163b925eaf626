package review

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	screen "gaffer/internal/ui/tui/review"
)

// act does what the flags say: it comments on a change, and then approves it or sends it back. If
// task is empty, because the user has named a run, act returns an error.
func act(ctx context.Context, e *env.Env, f openfleet.Fleet, run, task string, args []string, o options) error {
	if task == "" {
		return exit.Usage(fmt.Errorf("%q is a run, want a task", args[0]))
	}
	change, err := f.Change(ctx, run, task, fleet.ChangeQuery{})
	if err != nil {
		return err
	}
	r := change.Review
	name := display.Printable(task)
	if o.comment != "" {
		c, err := commentAt(ctx, f, change.Change, o)
		if err != nil {
			return err
		}
		c.Text = args[1]
		if r, err = f.ChangeReview(ctx, run, task, fleet.ReviewAction{Action: fleet.ActComment, Comment: c, Tree: change.Change.Tree}); err != nil {
			return err
		}
		if !o.json {
			e.Talk("commented on %s as %s; 'gaffer review %s --send-back' sends all comments", name, r.Comments[len(r.Comments)-1].ID, name)
		}
	}
	switch {
	case o.approve:
		if r, err = f.ChangeReview(ctx, run, task, fleet.ReviewAction{Action: fleet.ActApprove, Tree: change.Change.Tree}); err != nil {
			return err
		}
		if !o.json {
			e.Talk("approved %s; 'gaffer merge %s' merges it", name, name)
		}
	case o.sendBack:
		var before bool
		if r, before, err = openfleet.SendBack(ctx, f, run, task, change.Change.Tree); err != nil {
			return err
		}
		said := "sent %s back in round %d; its agent continues"
		if before {
			said = "%s was sent back before, in round %d; its agent continues"
		}
		if !o.json {
			e.Talk(said, name, r.Round)
		}
	}
	if o.json {
		return e.PrintJSON(r)
	}
	return nil
}

// commentAt returns a comment with a position but without text. The position is the value of
// --comment: '.' for the whole change, PATH, PATH:LINE or PATH:FIRST-LAST. commentAt returns an
// error if the change has no such file, or if the file has no such line. It does not check the
// lines of a file whose diff is too large.
func commentAt(ctx context.Context, f openfleet.Fleet, c fleet.Change, o options) (fleet.Comment, error) {
	at := fleet.Comment{Tree: c.Tree}
	if o.comment == "." {
		return at, nil
	}
	at.Path = o.comment
	known := func(path string) bool {
		for _, file := range c.Files {
			if file.Path == path {
				return true
			}
		}
		return false
	}
	if i := strings.LastIndexByte(o.comment, ':'); i >= 0 && !known(o.comment) {
		first, last, isRange := strings.Cut(o.comment[i+1:], "-")
		if !isRange {
			last = first
		}
		var errs [2]error
		at.First, errs[0] = strconv.Atoi(first)
		at.Last, errs[1] = strconv.Atoi(last)
		if errors.Join(errs[:]...) != nil || at.First < 1 || at.Last < at.First {
			return at, exit.Usage(fmt.Errorf("--comment %s: want PATH:LINE or PATH:FIRST-LAST", o.comment))
		}
		at.Path = o.comment[:i]
	}
	if !known(at.Path) {
		return at, exit.WithHint(exit.NotFound(fmt.Errorf("the change has no file %q", at.Path)), fmt.Sprintf("'gaffer diff %s --stat' lists its files", c.Task))
	}
	if at.First == 0 {
		return at, nil
	}
	if at.Side = fleet.NewSide; o.old {
		at.Side, at.Tree = fleet.OldSide, c.Base
	}
	// whole is the number of context lines in the diff. It is large enough for the whole file,
	// because a comment may be on an unchanged line.
	const whole = 1_000_000
	diff, err := f.ChangedFile(ctx, c.Run, c.Task, fleet.FileQuery{Path: at.Path, Tree: c.Tree, Context: whole})
	if err != nil {
		return at, err
	}
	lines := map[int]string{}
	for _, h := range diff.Hunks {
		old, now := h.OldFirst, h.NewFirst
		for _, line := range h.Lines {
			if line.Op != "+" {
				if o.old {
					lines[old] = line.Text
				}
				old++
			}
			if line.Op != "-" {
				if !o.old {
					lines[now] = line.Text
				}
				now++
			}
		}
	}
	var text []string
	for n := at.First; n <= at.Last && diff.TooLarge == ""; n++ {
		line, ok := lines[n]
		if !ok {
			return at, exit.Usage(fmt.Errorf("--comment %s: the file has no line %d", o.comment, n))
		}
		text = append(text, line)
	}
	at.Lines = strings.Join(text, "\n")
	return at, nil
}

// printReviews prints the changes of a run or, if task is not empty, the comments on the task's
// change.
func printReviews(ctx context.Context, e *env.Env, f openfleet.Fleet, run, task string, asJSON bool) error {
	if task != "" {
		c, err := f.Change(ctx, run, task, fleet.ChangeQuery{})
		if err != nil {
			return err
		}
		if asJSON {
			return e.PrintJSON(c)
		}
		return printChange(e, c)
	}
	if asJSON {
		r, err := f.Reviews(ctx, run)
		if err != nil {
			return err
		}
		return e.PrintJSON(r)
	}
	all, err := changesOf(ctx, f, run)
	if err != nil {
		return err
	}
	if len(all.Entries) == 0 {
		e.Talk("no task of run %s has a worktree, so there is no change to review", run)
		return nil
	}
	rows := [][]table.Cell{{{Text: "Task", Keep: true}, {Text: "Review", Keep: true}, {Text: "State"}, {Text: "Changed"}, {Text: "Comments"}, {Text: "Checks", Drop: 1}}}
	for _, one := range all.Entries {
		changed, checks := "", ""
		if a := one.Task.Attempt; a != nil {
			if a.Diff != nil {
				changed = fmt.Sprintf("+%d −%d in %s", a.Diff.Added, a.Diff.Removed, phrase.Count(a.Diff.Changed, "file"))
			}
			checks = phrase.Checks(a)
		}
		comments := ""
		if n := len(one.Review.Comments); n > 0 {
			comments = phrase.Count(n, "comment")
		}
		rows = append(rows, table.Row(one.Task.ID, strings.ReplaceAll(string(one.Review.State), "_", " "), phrase.TaskLabel(one.Task), changed, comments, checks))
	}
	if err := table.Print(e, rows); err != nil {
		return err
	}
	e.Talk("%s", screen.Overview(all.Entries))
	return nil
}

// printChange prints a line with the size of a change and the state of its review, and then the
// comments with the agent's answers.
func printChange(e *env.Env, c fleet.TaskChange) error {
	state := strings.ReplaceAll(string(c.Review.State), "_", " ")
	if err := e.Printf("%s  %s, +%d −%d in %s, %s\n", display.Printable(c.Change.Task), state, c.Change.Added, c.Change.Removed,
		phrase.Count(len(c.Change.Files), "file"), phrase.Count(len(c.Review.Comments), "comment")); err != nil {
		return err
	}
	outdated := map[string]bool{}
	for _, a := range c.Anchors {
		outdated[a.Comment] = a.Outdated
	}
	for _, one := range c.Review.Comments {
		facts := []string{"draft"}
		if one.Round > 0 {
			facts[0] = fmt.Sprintf("sent in round %d", one.Round)
		}
		if outdated[one.ID] {
			facts = append(facts, "outdated")
		}
		if one.Resolved {
			facts = append(facts, "resolved")
		}
		if err := e.Printf("%s  %s (%s): %s\n", one.ID, screen.PlaceName(one), strings.Join(facts, ", "), phrase.Line(one.Text)); err != nil {
			return err
		}
		if a := one.Answer; a != nil {
			word := "not fixed"
			if a.Fixed {
				word = "fixed"
			}
			if err := e.Printf("    agent: %s\n", phrase.Join(": ", word, phrase.Line(a.Text))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Package source reads work from the places where users keep it: issues on GitHub and GitLab, bead
// files, the inbox, and tables. It turns each item into a task, and tells the source what became of
// it.
//
// The text of an issue was written by strangers. It becomes nothing but a part of the prompt, between
// two lines that it cannot contain. It never becomes a key of a plan, a file name or an argument.
package source

import (
	"context"
	"fmt"

	"gaffer/internal/flow/prompt"
	"gaffer/internal/plan"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// Item is one piece of work in a source.
type Item struct {
	plan.SourceItem
	TaskID string
	Author string
	Text   string // text of an issue; empty if Task is set
	// Task is set if the source says by itself how the item is done, because the user has written
	// it. Its ID, Name and Prompt are set, and the plan's defaults are applied.
	Task *plan.Task
}

// Result is what became of an item.
type Result struct {
	Run, Task   string
	Number      int  // counts the ends of the task
	Complete    bool // the task is complete; if false, it failed or was cancelled
	Outcome     string
	PullRequest string // address of the task's pull request; empty if there is none
	// MaybeSent means that an earlier process may have told the source already.
	MaybeSent bool
}

// Source is a place with items.
type Source interface {
	// Name returns the name of the source without its filter, such as "gh:ada/shop". Two sources
	// with the same name have the same items.
	Name() string
	// List returns the open items, oldest first.
	List(ctx context.Context) ([]Item, error)
	// Report tells the source what became of an item, as item.Report says. It changes nothing if
	// r.MaybeSent is set and the source knows this result already.
	Report(ctx context.Context, item plan.SourceItem, r Result) error
}

// maxItems is the maximum number of items that are read from a source.
const maxItems = 1000

// Options has what the sources need.
type Options struct {
	Dir     string // folder that relative paths start from
	Root    string // folder of the project
	Outline plan.Outline
	Agents  []string // names of the agents that gaffer.yaml defines
	Inbox   *workflow.Inbox
	Host    host.Host
	// Beads prepares tasks of beads. It sets the folder of their records and of their repository.
	Beads func(ctx context.Context, tasks []plan.Task) ([]plan.Task, error)
}

// Open returns the source that a spec names. It does not read the source yet.
func Open(s Spec, o Options) (Source, error) {
	switch s.Kind {
	case GitHub:
		return newGitHub(s, o.Root)
	case GitLab:
		return newGitLab(s, o.Root)
	case Beads:
		return newBeads(s, o), nil
	case Inbox:
		return &inboxSource{o.Inbox, o.Outline.Defaults}, nil
	}
	return newTable(s, o), nil
}

// CheckReport returns an error if the source cannot be told what r says.
func CheckReport(s Spec, r plan.ItemReport) error {
	if r.Label != "" {
		if problem := LabelProblem(r.Label); problem != "" {
			return &SpecError{Text: r.Label, Problem: "as a label, " + problem}
		}
	}
	switch {
	case r.IsZero(), s.Kind == GitHub, s.Kind == GitLab:
		return nil
	case s.Kind == Inbox && r.Label == "":
		return nil
	case s.Kind == Inbox:
		return &SpecError{Text: s.String(), Problem: "an item of the inbox has no labels"}
	}
	return &SpecError{Text: s.String(), Problem: "nothing can be reported to it: its results are in the run"}
}

// Tasks makes a task from each item.
func Tasks(items []Item, out plan.Outline, template *prompt.Template, take plan.ItemTake, report plan.ItemReport) ([]plan.Task, error) {
	tasks := make([]plan.Task, 0, len(items))
	for _, item := range items {
		t := out.Defaults
		if item.Task != nil {
			t = *item.Task
		} else {
			t.ID, t.Name = item.TaskID, item.Title
		}
		text, err := promptOf(item, t.Prompt, template)
		if err != nil {
			return nil, fmt.Errorf("item %s of %s: %w", item.ID, item.Source, err)
		}
		t.Prompt, t.Item = text, item.SourceItem
		t.Item.Take, t.Item.Report = take, report
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// Package source reads work from the places where users keep it: issues on GitHub and GitLab, files
// of the issue tracker beads, the project's inbox, and tables. It turns each item into a task. When
// the task has ended, it reports the result to the source.
//
// Strangers write the issues. So the body of an issue is used only as a part of the prompt, between
// two marker lines that the body cannot contain. The body cannot set other fields of the task.
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
	Text   string // text of an issue on GitHub or GitLab; empty if Task is set
	// Task is the item's task, with the plan's defaults. It is set if the user has written the
	// item, as in a table. It is nil for an issue on GitHub or GitLab.
	Task *plan.Task
}

// Result says how the task that was made from an item has ended.
type Result struct {
	Run, Task string
	// Number is the number of this report about the task, starting at 1. A task that is retried may
	// have several reports.
	Number      int
	Complete    bool // the task is complete; if false, it failed or was cancelled
	Outcome     string
	PullRequest string // address of the task's pull request; empty if there is none
	// MaybeSent means that an earlier try may have reported this result to the source already.
	MaybeSent bool
}

// Source is a place where users keep items, such as a repository with issues.
type Source interface {
	// Name returns the name of the source, such as "gh:ada/shop". It does not say which issues are
	// wanted. Two sources with the same name are the same repository, inbox or file.
	Name() string
	// List returns the open items. Issues come in the order of their numbers, and other items in
	// the order of their file.
	List(ctx context.Context) ([]Item, error)
	// Report reports the result r to the source, in the way that item.Report says. If r.MaybeSent
	// is set and the source already has this report, Report does not add it a second time.
	Report(ctx context.Context, item plan.SourceItem, r Result) error
}

// maxItems is the maximum number of items that List returns for a repository or for the inbox.
const maxItems = 1000

// Options holds the settings and dependencies of the sources.
type Options struct {
	Dir     string // folder that relative paths of files start from
	Root    string // folder of the project
	Outline plan.Outline
	Agents  []string // names of the agents that gaffer.yaml defines
	Inbox   *workflow.Inbox
	Host    host.Host
	// Beads completes tasks that were read from a file of the issue tracker beads: it makes their
	// prompts from templates, and sets the missing fields of plan.Task.Dispatch.
	Beads func(ctx context.Context, tasks []plan.Task) ([]plan.Task, error)
}

// Open returns the source that s names. It does not read the source yet. If the source is on GitHub
// or GitLab, Open returns an error if the program gh or glab is not installed.
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

// CheckReport returns a [*SpecError] if results cannot be reported to the source s in the way that
// r says.
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

// Tasks makes a task from each item. If the item is an issue, the task gets the default settings in
// out, the plan's outline. The parameter template is the template for the prompts. If it is nil,
// the prompts of issues are made with gaffer's own template, and other items keep their prompts.
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

package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/plan"
	"gaffer/statefile"
	"gaffer/workflow"
)

// table is a file of tasks: a CSV file, or a file with a JSON object on each line.
type table struct {
	file    string // path as the user has written it
	path    string // absolute path
	outline plan.Outline
}

func newTable(s Spec, o Options) *table { return &table{s.File, under(o.Dir, s.File), o.Outline} }

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func (t *table) Name() string { return t.path }

func (t *table) List(context.Context) ([]Item, error) {
	tasks, err := t.outline.Table(t.file)
	return itemsOf(t.Name(), tasks), err
}

// itemsOf returns an [Item] for each task. The tasks were read from the source with this name, such
// as a file.
func itemsOf(source string, tasks []plan.Task) []Item {
	items := make([]Item, len(tasks))
	for i, t := range tasks {
		name := t.Name
		if name == "" {
			name = t.ID
		}
		items[i] = Item{SourceItem: plan.SourceItem{Source: source, ID: t.ID, Title: cleanLine(name, maxTitle)}, TaskID: t.ID, Task: &tasks[i]}
	}
	return items
}

func (t *table) Report(context.Context, plan.SourceItem, Result) error {
	return &SpecError{Text: t.file, Problem: "nothing can be reported to a file"}
}

// beadsFile is the file, relative to the project's folder, in which the issue tracker "beads" keeps
// its issues.
const beadsFile = ".beads/issues.jsonl"

// beads is a file of the issue tracker "beads". Each line has one issue, called a bead, as JSON.
type beads struct {
	file, path string
	opts       Options
}

func newBeads(s Spec, o Options) *beads {
	if s.File == "" {
		path := filepath.Join(o.Root, beadsFile)
		return &beads{path, path, o}
	}
	return &beads{s.File, under(o.Dir, s.File), o}
}

func (b *beads) Name() string { return "beads:" + b.path }

func (b *beads) List(ctx context.Context) ([]Item, error) {
	defaults := b.opts.Outline.Defaults
	checks := defaults.Verify
	defaults.Verify = nil
	p, err := plan.Load(b.opts.Host, b.path, plan.Options{
		Dir: b.opts.Dir, Root: b.opts.Root, Format: plan.Beads, Agents: b.opts.Agents, BeadDefaults: defaults,
	})
	if err != nil {
		return nil, err
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.Verify = slices.Concat(t.Verify, checks) // first the bead's own checks, then the checks of the plan
		t.Worktree = t.Worktree || t.Branch != ""
	}
	tasks, err := b.opts.Beads(ctx, p.Tasks)
	return itemsOf(b.Name(), tasks), err
}

func (b *beads) Report(context.Context, plan.SourceItem, Result) error {
	return &SpecError{Text: b.file, Problem: "nothing can be reported to a file"}
}

// inboxSource is the project's inbox, the queue of ideas that users leave for later.
type inboxSource struct {
	inbox    *workflow.Inbox
	defaults plan.Task
}

func (s *inboxSource) Name() string { return "inbox:" + s.inbox.Path() }

// maxIdea is the maximum length of an idea from the inbox in a prompt, in bytes. A longer idea is
// cut.
const maxIdea = 256 << 10

func (s *inboxSource) List(context.Context) ([]Item, error) {
	list, err := s.inbox.List()
	if err != nil {
		return nil, err
	}
	var items []Item
	seen := map[string]bool{}
	for _, i := range list {
		open := i.Status == workflow.Pending || i.Status == workflow.ItemError || i.Status == workflow.Processed && i.ConsumedBy.Absent()
		if i.ID == "" || seen[i.ID] || !open || strings.TrimSpace(i.Content) == "" || !slices.Contains(workflow.ItemTypes(), i.Type) {
			continue
		}
		seen[i.ID] = true
		t := s.defaults
		t.ID, t.Name, t.Prompt = "inbox-"+safeID(i.ID), cleanLine(i.Content, maxTitle), cleanText(i.Content, maxIdea)+"\n"
		items = append(items, Item{SourceItem: plan.SourceItem{Source: s.Name(), ID: lineID(i.ID), Title: t.Name}, TaskID: t.ID, Task: &t})
		if len(items) == maxItems {
			break
		}
	}
	return items, nil
}

// safeID returns id, the id of an idea in the inbox, if it is short and can be a part of a file
// name. Otherwise it returns the first digits of the id's hash.
func safeID(id string) string {
	if len(id) <= 60 && statefile.CheckName("id", id) == nil && strings.Trim(id, plainCharacters) == "" {
		return id
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(id)))[:12]
}

const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// lineID returns id, the id of an idea, if it is a short line. Otherwise it returns the result of
// safeID.
func lineID(id string) string {
	if len(id) <= 200 && cleanLine(id, 200) == id {
		return id
	}
	return safeID(id)
}

// Report marks an idea in the inbox as processed if the task made from it is complete, and
// otherwise as failed. It changes nothing if the idea was deleted, or if another program has taken
// the idea or changed its status.
func (s *inboxSource) Report(ctx context.Context, item plan.SourceItem, r Result) error {
	id, err := s.ideaOf(item)
	if err != nil {
		return err
	}
	if r.Complete {
		_, err = s.inbox.Done(ctx, id, "gaffer run "+r.Run)
	} else {
		_, err = s.inbox.Fail(ctx, id, strings.TrimSpace("gaffer run "+r.Run+": "+outcomes[r.Outcome]))
	}
	_, gone := errors.AsType[*workflow.NotFoundError](err)
	_, changed := errors.AsType[*workflow.TransitionError](err)
	if gone || changed {
		return nil // the idea was deleted, or another program has taken or changed it
	}
	return err
}

// ideaOf returns the id of the idea from which the item was made. The item's own id differs from it
// if the idea's id is not a short line, see lineID.
func (s *inboxSource) ideaOf(item plan.SourceItem) (string, error) {
	list, err := s.inbox.List()
	if i := slices.IndexFunc(list, func(i workflow.Item) bool { return lineID(i.ID) == item.ID }); i >= 0 {
		return list[i].ID, err
	}
	return item.ID, err
}

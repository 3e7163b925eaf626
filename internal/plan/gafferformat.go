package plan

import (
	"path/filepath"
	"strings"
)

// planDocument is a plan in gaffer's own format, before its tasks are read. The tasks are read
// later, because they need the default values, which may come after them in the file.
type planDocument struct {
	name      string
	defaults  Task
	parallel  int
	onFailure OnFailure
	budget    Budget
	source    sourceSection
	tasks     []*node
}

const (
	maxWave     = 100_000
	maxRetries  = 100
	maxPriority = 1_000_000
)

// planKeys returns the keys of a plan in gaffer's own format.
func planKeys() []keySpec[planDocument] {
	return []keySpec[planDocument]{
		newKey("name", text(), func(d *planDocument) *string { return &d.name },
			"what the plan is called; the file's name if absent", "name: release 1.4"),
		newKey("defaults", defaults(), func(d *planDocument) *Task { return &d.defaults },
			"what holds for each task that does not say otherwise", "defaults:\n  agent: claude\n  timeout: 30m\n  retries: 1"),
		newKey("parallel", number(0, maxTasks), func(d *planDocument) *int { return &d.parallel },
			"how many tasks run at once; without it, or with 0, 8 on this machine, and on a server as many as its workers take", "parallel: 4"),
		newKey("on_failure", choice(Continue, Stop, StopNow), func(d *planDocument) *OnFailure { return &d.onFailure },
			"what a failed task means for tasks that do not wait for it: continue (as without it), stop (none starts any more) or stop-now (and what runs is ended)", "on_failure: stop"),
		newKey("budget", nestedMapping("a budget", budgetKeys(), rejected), func(d *planDocument) *Budget { return &d.budget },
			"what the whole run may cost", "budget:\n  usd: 20\n  tokens: 5000000"),
		newKey("source", nestedMapping("source", sourceKeys(), rejected), func(d *planDocument) *sourceSection { return &d.source },
			"how tasks are made from the items of a source, such as issues, if the plan has no tasks and runs with --from", "source:\n  limit: 5\n  report:\n    comment: true"),
		newKey("tasks", taskList(), func(d *planDocument) *[]*node { return &d.tasks },
			"the tasks, one at least", "tasks:\n  - id: schema\n    prompt: Write the schema.").require(),
	}
}

func taskList() valueType[[]*node] {
	task := objectSchema(taskKeys())
	task.AllOf = exclusiveKeys()
	return valueType[[]*node]{schema{Type: "array", MinItems: 1, Items: &task}, func(r *reporter, name string, n *node) ([]*node, bool) {
		if n.kind != list {
			r.report(n.position, "%s: found %s, want a list of tasks, each with an id", name, n.kind)
			return nil, false
		}
		if len(n.items) == 0 {
			r.report(n.position, "%s: found an empty list, want one task at least", name)
		}
		return n.items, true
	}}
}

func budgetKeys() []keySpec[Budget] {
	return []keySpec[Budget]{
		newKey("usd", amount(), func(b *Budget) *float64 { return &b.USD }, "US dollars; 0 is no limit", "usd: 2.50"),
		newKey("tokens", tokenCount(), func(b *Budget) *int64 { return &b.Tokens }, "tokens, read and written; 0 is no limit", "tokens: 200000"),
	}
}

// readPlan reads a plan in gaffer's own format from the parsed YAML root, which is nil if the file
// is empty.
func readPlan(file string, root *node, r *reporter) draft {
	var doc planDocument
	doc.onFailure = Continue
	doc.defaults.Questions = Ask
	d := draft{Plan: Plan{Name: defaultName(file), Source: SourceOrchestrate, SourceFile: file}}
	if root == nil {
		r.report(position{line: 1, column: 1}, "found nothing, want a plan with tasks")
		return d
	}
	if root.get("source") != nil && root.get("tasks") == nil {
		r.report(root.get("source").position, "the tasks of this plan come from a source: name it with --from, such as --from gh:OWNER/REPO")
		return d
	}
	given := readMapping(r, "a plan", root, planKeys(), rejected, &doc)
	if p, ok := given["source"]; ok {
		r.warn(p.at, "source has no effect, because the plan has tasks: it is for a plan without tasks and 'gaffer run --from'")
	}
	d.Parallel, d.OnFailure, d.Budget = doc.parallel, doc.onFailure, doc.budget
	if doc.name != "" {
		d.Name = doc.name
	}
	keys := taskKeys()
	for _, n := range doc.tasks {
		d.add(readTask(r, n, keys, doc))
	}
	return d
}

func defaultName(file string) string {
	base := filepath.Base(file)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

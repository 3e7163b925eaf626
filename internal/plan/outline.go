package plan

import (
	"cmp"
	"fmt"

	"gaffer/statefile/host"
)

// sourceSection holds the section "source" of a plan's file. It says how tasks are made from the
// items of a source, for example the issues of an issue tracker.
type sourceSection struct {
	template string
	limit    int
	report   ItemReport
}

// maxItems is the highest valid value of the key "limit" in the section "source". That key limits
// the number of items from which one run makes tasks.
const maxItems = 1000

// sourceKeys returns the keys of the section "source" of a plan's file.
func sourceKeys() []keySpec[sourceSection] {
	return []keySpec[sourceSection]{
		newKey("limit", number(1, maxItems), func(s *sourceSection) *int { return &s.limit },
			"how many items a run takes at most, the oldest first", "limit: 5"),
		newKey("template", text(), func(s *sourceSection) *string { return &s.template },
			"the file with the prompt, from the plan's folder; its {{ITEM}} is the item's text", "template: prompts/issue.md"),
		newKey("report", nestedMapping("report", reportKeys(), rejected), func(s *sourceSection) *ItemReport { return &s.report },
			"what the source is told when the task of an item has ended", "report:\n  comment: true\n  label: done\n  pr: true"),
	}
}

func reportKeys() []keySpec[ItemReport] {
	return []keySpec[ItemReport]{
		newKey("comment", boolean(), func(r *ItemReport) *bool { return &r.Comment },
			"a comment says how the task has ended", "comment: true"),
		newKey("label", text(), func(r *ItemReport) *string { return &r.Label },
			"the label that the item gets when its task is complete", "label: done"),
		newKey("pr", boolean(), func(r *ItemReport) *bool { return &r.PR },
			"a comment names the pull request of the task", "pr: true"),
	}
}

// Outline is a plan without tasks. It holds the settings that apply to all tasks. The tasks come
// from outside the plan, for example from the issues of an issue tracker or from the lines of a
// table. [Outline.Plan] adds them.
type Outline struct {
	Defaults Task       // a task with the values of the section "defaults"
	Template string     // path of the file with the template for the tasks' prompts; empty if the plan names none
	Limit    int        // maximum number of items from which one run makes tasks; 0 means all
	Report   ItemReport // what is reported to the source when a task has ended

	plan Plan
	doc  planDocument
	host host.Host
	opts Options
}

// LoadOutline reads the outline from the file arg, which must be a plan in gaffer's own format. If
// arg is empty, the outline has gaffer's built-in defaults. If the file has another format, the
// error is a [*NameError]. The other errors are the same as those of [Load].
func LoadOutline(h host.Host, arg string, o Options) (Outline, error) {
	l, err := newLoader(h, o)
	if err != nil {
		return Outline{}, err
	}
	out := Outline{host: l.host, opts: o, doc: planDocument{onFailure: Continue, defaults: Task{QuestionRules: QuestionRules{Questions: Ask}}}}
	out.plan = Plan{Source: SourceOrchestrate, Format: Gaffer, OnFailure: Continue}
	if arg != "" {
		if err := out.read(l, arg); err != nil {
			return Outline{}, err
		}
	}
	out.Defaults, out.Limit, out.Report = out.doc.defaults, out.doc.source.limit, out.doc.source.report
	out.Report.Comment = out.Report.Comment || out.Report.PR
	if out.doc.source.template != "" {
		out.Template = under(l.folderOf(arg), out.doc.source.template)
	}
	return out, nil
}

func (out *Outline) read(l *loader, arg string) error {
	format, err := l.detect(arg)
	if err != nil {
		return err
	}
	if format != Gaffer || l.parsed == nil {
		return &NameError{Arg: arg, Problem: "is no plan in gaffer's own format, which --from needs"}
	}
	root := l.parsed.root
	if root != nil {
		keys := planKeys()
		for i := range keys {
			keys[i].required = false
		}
		given := readMapping(&l.reporter, "a plan", root, keys, rejected, &out.doc)
		if p, ok := given["tasks"]; ok {
			l.report(p.at, "the tasks come from the source that --from names, so the plan must not have tasks")
		}
	}
	if len(l.problems) > 0 {
		return l.problems.sorted()
	}
	out.plan.SourceFile, out.plan.Name = arg, cmp.Or(out.doc.name, defaultName(arg))
	out.plan.Parallel, out.plan.OnFailure, out.plan.Budget = out.doc.parallel, out.doc.onFailure, out.doc.budget
	out.plan.Warnings = l.warnings.sorted()
	return nil
}

// Plan adds the tasks to the outline, and returns the resulting plan. If the outline was read from
// a file, the plan's name comes from that file. Otherwise it is the parameter name.
func (out Outline) Plan(name string, tasks []Task) (Plan, error) {
	l, err := newLoader(out.host, out.opts)
	if err != nil {
		return Plan{}, err
	}
	l.file, l.warnings = out.plan.SourceFile, out.plan.Warnings
	d := draft{Plan: out.plan}
	d.Name = cmp.Or(d.Name, name)
	for _, t := range tasks {
		d.add(t, taskPositions{})
	}
	if len(tasks) > 0 {
		d.check(&l.reporter, "task")
	}
	if len(l.problems) > 0 {
		return Plan{}, l.problems.sorted()
	}
	return l.finish(d.Plan), nil
}

// Table reads tasks from the file arg, which is a table with one task on each line. The file is
// either CSV, whose first line names the columns, or it has one JSON object on each line. The valid
// names of CSV columns and JSON keys are the keys of a task in a plan, and also "title", which
// means the same as the key "name". A key that a task does not set gets the outline's default
// value.
func (out Outline) Table(arg string) ([]Task, error) {
	l, err := newLoader(out.host, out.opts)
	if err != nil {
		return nil, err
	}
	l.file = arg
	data, err := l.readFile(arg)
	if err != nil {
		return nil, err
	}
	rows := l.tableRows(arg, data)
	d := draft{}
	keys := tableKeys()
	for _, n := range rows {
		if len(l.problems) > maxTableProblems {
			l.report(n.position, "there are more problems in later lines")
			break
		}
		d.add(readTask(&l.reporter, n, keys, out.doc))
	}
	if len(rows) > 0 {
		d.check(&l.reporter, "task")
	}
	l.readPrompts(&d, l.folderOf(arg))
	if len(l.problems) > 0 {
		return nil, l.problems.sorted()
	}
	return d.Tasks, nil
}

// maxTableProblems is the number of problems after which no more lines of a table are read.
const maxTableProblems = 50

// tableKeys returns the keys that a task can have in a table of tasks; see [Outline.Table].
func tableKeys() []keySpec[Task] {
	return append(taskKeys(), newKey("title", text(), func(t *Task) *string { return &t.Name }, "its name for users; the id if absent", "title: Build the API"))
}

// columnProblem returns what is wrong with the name of a column in a table of tasks, or "" if the
// name is valid. The parameter before holds the names of the columns to its left.
func columnProblem(name string, before []string) string {
	for _, other := range before {
		if other == name {
			return fmt.Sprintf("the column %.80q is there twice", name)
		}
	}
	for _, key := range keyNames(tableKeys()) {
		if key == name {
			return ""
		}
	}
	return fmt.Sprintf("a task has no key %.80q", name)
}

package teamstate

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// draft is the plan in an agent's answer. It is not fully checked yet: the method plan.with finds
// further problems, such as groups that depend on each other in a cycle.
type draft struct {
	tasks  []draftTask
	groups []team.TaskGroup
}

type draftTask struct {
	team.Task
	requirements []string
}

// maxID is the maximum length of the id of a task or a group, in bytes. It leaves room for the
// prefixes and suffixes in names of branches, folders and steps.
const maxID = 64

// checkID returns an error if id is too long, cannot be used in the names of branches and files, or
// looks like the id of a step of the project manager. kind is used in the error's text. It says
// what has the id, such as "group".
func checkID(kind, id string) error {
	if err := statefile.CheckName(kind, id); err != nil {
		return err
	}
	fit := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-", r) }
	switch {
	case len(id) > maxID:
		return fmt.Errorf("%s %q has %d bytes, more than the %d an id may have", kind, clip(id, 60), len(id), maxID)
	case strings.ContainsFunc(id, func(r rune) bool { return !fit(r) }):
		return fmt.Errorf("%s %q has other characters than letters, digits, dots, dashes and underscores", kind, id)
	case strings.Contains(id, "..") || strings.HasSuffix(id, ".") || strings.HasSuffix(id, ".lock"):
		return fmt.Errorf("%s %q cannot be a part of a branch's name", kind, id)
	case strings.HasPrefix(id, "pm-"):
		return fmt.Errorf("%s %q has the name of the project manager's own steps", kind, id)
	}
	return nil
}

// readDraft reads the tasks and groups of a plan from an agent's answer. In the answer, a group may
// list its tasks by id, or contain the whole tasks.
func readDraft(body jsontree.Value) (draft, error) {
	var d draft
	if body.Kind() != jsontree.Object {
		return d, errors.New("it has no plan: a JSON object with tasks and groups is needed")
	}
	for id, v := range parts(body.Get("tasks")) {
		if err := d.addTask(id, v, ""); err != nil {
			return d, err
		}
	}
	for id, v := range parts(body.Get("groups")) {
		if err := d.addGroup(id, v); err != nil {
			return d, err
		}
	}
	return d, d.connect()
}

// parts yields the items of a list in an agent's answer, each with its id. If the agent wrote a
// JSON object instead of a list, parts yields the members of the object. The id of a member is its
// field "id" or, if it has none, its key.
func parts(v jsontree.Value) iter.Seq2[string, jsontree.Value] {
	return func(yield func(string, jsontree.Value) bool) {
		for _, item := range v.Items() {
			if !yield(item.Get("id").Text(), item) {
				return
			}
		}
		for name, member := range v.Members() {
			if !yield(cmp.Or(member.Get("id").Text(), name), member) {
				return
			}
		}
	}
}

func (d *draft) addTask(id string, v jsontree.Value, group string) error {
	t := draftTask{requirements: stringList(v.Get("requirements"))}
	t.ID, t.Description = id, clip(v.Get("description").Text(), maxText)
	t.GroupID = v.Get("group_id").Text()
	if group != "" {
		t.GroupID = group
	}
	if len(d.tasks) == maxTasks {
		return fmt.Errorf("it has more than %d tasks", maxTasks)
	}
	if err := checkID("task", t.ID); err != nil {
		return err
	}
	if d.task(t.ID) >= 0 {
		return fmt.Errorf("task %s is listed twice", t.ID)
	}
	d.tasks = append(d.tasks, t)
	return nil
}

func (d *draft) task(id string) int {
	return slices.IndexFunc(d.tasks, func(t draftTask) bool { return t.ID == id })
}

func (d *draft) addGroup(id string, v jsontree.Value) error {
	g := team.TaskGroup{
		ID: id, Name: oneLine(v.Get("name").Text()),
		FilesAffected: stringList(v.Get("files_affected")), DependsOn: unique(stringList(v.Get("depends_on"))),
		Complexity: complexity(v.Get("complexity")), EstimatedEffortMinutes: readNumber(v.Get("estimated_effort_minutes")),
		CanParallel: true,
	}
	if can, ok := v.Get("can_parallel").Bool(); ok {
		g.CanParallel = can
	}
	if len(d.groups) == maxGroups {
		return fmt.Errorf("it has more than %d groups", maxGroups)
	}
	if err := checkID("group", g.ID); err != nil {
		return err
	}
	if slices.ContainsFunc(d.groups, func(other team.TaskGroup) bool { return other.ID == g.ID }) {
		return fmt.Errorf("group %s is listed twice", g.ID)
	}
	if g.Name == "" {
		g.Name = g.ID
	}
	for id, task := range parts(v.Get("tasks")) {
		id, err := d.groupTask(id, task, g.ID)
		if err != nil {
			return err
		}
		if slices.Contains(g.Tasks, id) {
			return fmt.Errorf("task %s is listed twice in group %s", id, g.ID)
		}
		if g.Tasks = append(g.Tasks, id); len(g.Tasks) > maxTasks {
			return fmt.Errorf("group %s has more than %d tasks", g.ID, maxTasks)
		}
	}
	d.groups = append(d.groups, g)
	return nil
}

// groupTask reads the item v of a group's list of tasks. The item is the id of a task, or the task
// itself, which groupTask adds to the draft. It returns the id of the task.
func (d *draft) groupTask(id string, v jsontree.Value, group string) (string, error) {
	if v.Kind() == jsontree.Object {
		return id, d.addTask(id, v, group)
	}
	return v.Text(), checkID("task", v.Text())
}

// connect completes the references between tasks and groups, so that each task names its group and
// each group lists its tasks.
func (d *draft) connect() error {
	for _, g := range d.groups {
		for _, id := range g.Tasks {
			i := d.task(id)
			if i < 0 {
				continue // the task is not in the draft: plan.with checks later whether it exists
			}
			if own := d.tasks[i].GroupID; own != "" && own != g.ID {
				return fmt.Errorf("task %s is in group %s and in group %q", id, g.ID, clip(own, 60))
			}
			d.tasks[i].GroupID = g.ID
		}
	}
	for at, t := range d.tasks {
		i := slices.IndexFunc(d.groups, func(g team.TaskGroup) bool { return g.ID == t.GroupID })
		if t.GroupID == "" && len(d.groups) == 1 {
			i, d.tasks[at].GroupID = 0, d.groups[0].ID
		}
		if i < 0 {
			return fmt.Errorf("task %s is in no group of the plan", t.ID)
		}
		if !slices.Contains(d.groups[i].Tasks, t.ID) {
			d.groups[i].Tasks = append(d.groups[i].Tasks, t.ID)
		}
	}
	return nil
}

func complexity(v jsontree.Value) string {
	if word := v.Text(); word == "low" || word == "medium" || word == "high" {
		return word
	}
	return ""
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

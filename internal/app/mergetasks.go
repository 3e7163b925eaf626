package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/plan"
)

// mergeAgent is the agent of the tasks that bring worktrees together: gaffer
// itself, with a merge step as its prompt.
const mergeAgent = "gaffer-join"

// mergeStep is what a task of agent joinAgent does: it merges branches of a run, and
// what follows from that.
type mergeStep struct {
	Run    string   `json:"run"`
	Repo   string   `json:"repo,omitempty"` // its folder; empty for the project's
	Into   string   `json:"into,omitempty"`
	Start  string   `json:"start,omitempty"`  // where Into starts if it is not there; empty for a branch that must be there
	Tasks  []string `json:"tasks,omitempty"`  // whose branches are merged, in order
	Names  []string `json:"names,omitempty"`  // of those tasks, for the titles of commits; may be shorter
	Branch string   `json:"branch,omitempty"` // merged after them
	Remove bool     `json:"remove,omitempty"` // the worktrees of the run, when all is merged
	Open   string   `json:"open,omitempty"`   // the base of a pull request to open
}

// weave adds the tasks that merge branches. In a workflow there is one after each
// wave of several tasks, and one at the end. In other plans there is one before
// each task that needs the work of several others. So a conflict is a task that a
// person sees, can put right and can retry. A team merges by itself.
func weave(p plan.Plan, run string) (plan.Plan, error) {
	switch {
	case p.Team != nil:
		return p, nil
	case p.Workflow != nil:
		return weaveWorkflow(p, run)
	}
	return weaveOrigins(p, run)
}

func weaveWorkflow(p plan.Plan, run string) (plan.Plan, error) {
	byWave, last := map[int][]plan.Task{}, 0
	for _, t := range p.Tasks {
		byWave[t.Wave] = append(byWave[t.Wave], t)
		last = max(last, t.Wave)
	}
	ids := idsOf(p)
	woven := make([]plan.Task, 0, len(p.Tasks)+last+1)
	for wave := 1; wave <= last; wave++ {
		j := mergeStep{Run: run, Into: p.Workflow.Branch}
		for _, t := range byWave[wave] {
			t.Wave = 2*wave - 1
			if t.Worktree {
				j.add(t)
			} else { // alone in its wave it works on the workflow's branch itself
				t.Tree, t.Branch = workflowTree, p.Workflow.Branch
			}
			woven = append(woven, t)
		}
		if len(j.Tasks) == 0 {
			continue
		}
		t, err := j.task(ids.free(fmt.Sprintf("merge-%d", wave)), fmt.Sprintf("Merge wave %d into %s", wave, p.Workflow.Branch))
		if err != nil {
			return p, err
		}
		t.Wave = 2 * wave
		woven = append(woven, t)
	}
	if end, ok := ending(p.Workflow, run); ok {
		t, err := end.task(ids.free("finish"), "Finish the workflow")
		if err != nil {
			return p, err
		}
		t.Wave = 2*last + 1
		woven = append(woven, t)
	}
	p.Tasks = woven
	return p, nil
}

// weaveOrigins gives each worktree its branch and the branch that it starts from:
// that of the one task whose work it needs, or one into which a task of its own
// merges the work of several. Tasks that need the same work share that one.
func weaveOrigins(p plan.Plan, run string) (plan.Plan, error) {
	repos := map[string]bool{}
	for _, t := range p.Tasks {
		if t.Tree != "" { // a task that shares a worktree says itself where that starts
			return p, nil
		}
		if t.HasWorktree() {
			repos[repoOf(t)] = true
		}
	}
	if len(repos) == 0 {
		return p, nil
	}
	w := weaver{run: run, tasks: slices.Clone(p.Tasks), ids: idsOf(p), merges: map[string]merge{}, shared: map[*int]merge{}}
	for i, t := range w.tasks {
		if t.HasWorktree() && t.Branch == "" {
			w.tasks[i].Branch = worktree.BranchOf(run, t.ID)
		}
	}
	before := make([][]plan.Task, len(p.Tasks)) // the tasks that are added, by the task that they come before
	for _, repo := range slices.Sorted(maps.Keys(repos)) {
		origins := p.Origins(func(t plan.Task) bool { return repoOf(t) == repo })
		for i := range w.tasks {
			if t := &w.tasks[i]; t.HasWorktree() && repoOf(*t) == repo {
				added, err := w.start(t, origins[i])
				if err != nil {
					return p, err
				}
				before[i] = added
			}
		}
	}
	p.Tasks = nil
	for i, t := range w.tasks {
		p.Tasks = append(append(p.Tasks, before[i]...), t)
	}
	return p, nil
}

// weaver is one plan as [weaveOrigins] changes it.
type weaver struct {
	run    string
	tasks  []plan.Task
	ids    ids
	merges map[string]merge // by what is merged
	shared map[*int]merge   // by the list that tasks of a wave share
	n      int              // tasks that were added
}

// merge is a task that merges others, and the branch that it merges them into.
type merge struct{ task, branch string }

// start says where the worktree of a task starts. It returns the task that merges
// what it starts from, if that one must be added.
func (w *weaver) start(t *plan.Task, from plan.Origin) (added []plan.Task, err error) {
	switch {
	case len(from.Tasks) == 0 && from.Checkout:
		t.Base = checkedOut
		return nil, nil
	case len(from.Tasks) == 0:
		return nil, nil
	case len(from.Tasks) == 1 && !from.Checkout:
		before := w.tasks[from.Tasks[0]]
		if t.Base = before.Branch; !slices.Contains(t.After, before.ID) { // of an earlier wave
			t.After = append(slices.Clip(t.After), before.ID)
		}
		return nil, nil
	}
	m, there := w.shared[&from.Tasks[0]]
	if !there {
		if m, added, err = w.merge(*t, from); err != nil {
			return nil, err
		}
		w.shared[&from.Tasks[0]] = m
	}
	t.Base, t.After = m.branch, append(slices.Clip(t.After), m.task)
	return added, nil
}

// merge finds the task that merges what t starts from, or adds it.
func (w *weaver) merge(t plan.Task, from plan.Origin) (m merge, added []plan.Task, err error) {
	j := mergeStep{Run: w.run, Repo: repoOf(t), Start: w.tasks[from.Tasks[0]].Branch}
	if from.Checkout {
		j.Start = checkedOut
	}
	for _, i := range from.Tasks {
		j.add(w.tasks[i])
	}
	key := fmt.Sprintf("%q %q %q", j.Repo, j.Start, j.Tasks)
	if m, there := w.merges[key]; there {
		return m, nil, nil
	}
	w.n++
	m.task = w.ids.free(fmt.Sprintf("merge-%d", w.n))
	m.branch = worktree.BranchOf(w.run, m.task)
	j.Into = m.branch
	task, err := j.task(m.task, "Merge "+listed(j.Tasks))
	task.After = j.Tasks
	w.merges[key] = m
	return m, []plan.Task{task}, err
}

// checkedOut is the name of the commit that the project's own folder has.
const checkedOut = "HEAD"

// repoOf is the folder of the repository that a task works in: empty for the
// project's.
func repoOf(t plan.Task) string {
	if t.Dispatch != nil {
		return t.Dispatch.Repo
	}
	return ""
}

// listed names the first few of many tasks.
func listed(tasks []string) string {
	const few = 4
	if len(tasks) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(tasks[:few-1], ", "), len(tasks)-few+1)
	}
	last := len(tasks) - 1
	if last == 0 {
		return tasks[0] + " with what is checked out"
	}
	return strings.Join(tasks[:last], ", ") + " and " + tasks[last]
}

// ids are those that tasks of a plan have.
type ids map[string]bool

func idsOf(p plan.Plan) ids {
	taken := ids{}
	for _, t := range p.Tasks {
		taken[t.ID] = true
	}
	return taken
}

// free returns an id that no task has, and takes it.
func (taken ids) free(want string) string {
	id := want
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", want, n)
	}
	taken[id] = true
	return id
}

// add merges the branch of a task.
func (j *mergeStep) add(t plan.Task) {
	j.Tasks, j.Names = append(j.Tasks, t.ID), append(j.Names, t.Name)
}

// ending is what follows when a workflow's last prompt is done.
func ending(w *plan.Workflow, run string) (mergeStep, bool) {
	j := mergeStep{Run: run, Remove: w.OnComplete.DeleteWorktree}
	switch {
	case w.OnComplete.MergeTo != "":
		j.Into, j.Branch = w.OnComplete.MergeTo, w.Branch
	case w.OnComplete.CreatePR:
		j.Open, j.Branch = w.Base, w.Branch
	}
	return j, j.Into != "" || j.Open != "" || j.Remove
}

func (j mergeStep) task(id, name string) (plan.Task, error) {
	text, err := json.Marshal(j)
	return plan.Task{ID: id, Name: name, Agent: mergeAgent, Prompt: string(text), Questions: plan.Deny}, err
}

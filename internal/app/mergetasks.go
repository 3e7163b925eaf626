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

// mergeAgent is the agent name of tasks that merge worktrees. gaffer itself runs them,
// with a mergeStep as the prompt.
const mergeAgent = "gaffer-join"

// mergeStep describes the work of a mergeAgent task: it merges branches of a run and
// performs the steps that follow.
type mergeStep struct {
	Run    string   `json:"run"`
	Repo   string   `json:"repo,omitempty"` // the repository's folder; empty for the project's
	Into   string   `json:"into,omitempty"`
	Start  string   `json:"start,omitempty"`  // start of a new branch Into; empty if Into must exist
	Tasks  []string `json:"tasks,omitempty"`  // their branches are merged, in this order
	Names  []string `json:"names,omitempty"`  // names of Tasks, for commit titles; may be shorter
	Branch string   `json:"branch,omitempty"` // merged after them
	Remove bool     `json:"remove,omitempty"` // delete the run's worktrees after all merges
	Open   string   `json:"open,omitempty"`   // base branch of a pull request to open
}

// weave adds the tasks that merge branches. A workflow gets one after each wave of
// several tasks, and one at the end. Other plans get one before each task that needs
// the work of several others. So a merge conflict is a task that the user sees, can
// repair and can retry. A team merges by itself.
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
			} else { // the only task of its wave works on the workflow's branch itself
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

// weaveOrigins gives each worktree a branch and a start branch. The start is the branch
// of the one task whose work it needs, or a branch into which an added task merges the
// work of several. Tasks that need the same work share that added task.
func weaveOrigins(p plan.Plan, run string) (plan.Plan, error) {
	repos := map[string]bool{}
	for _, t := range p.Tasks {
		if t.Tree != "" { // plans with shared worktrees define the start themselves
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
	before := make([][]plan.Task, len(p.Tasks)) // added tasks, by the index of the task that follows them
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

// weaver holds the plan that [weaveOrigins] changes.
type weaver struct {
	run    string
	tasks  []plan.Task
	ids    ids
	merges map[string]merge // by repository, start and merged tasks
	shared map[*int]merge   // by the list that the tasks of a wave share
	n      int              // number of added tasks
}

// merge is a merge task and the branch that it merges into.
type merge struct{ task, branch string }

// start sets the base of a task's worktree. It returns the merge task for that base, if
// one must be added.
func (w *weaver) start(t *plan.Task, from plan.Origin) (added []plan.Task, err error) {
	switch {
	case len(from.Tasks) == 0 && from.Checkout:
		t.Base = checkedOut
		return nil, nil
	case len(from.Tasks) == 0:
		return nil, nil
	case len(from.Tasks) == 1 && !from.Checkout:
		before := w.tasks[from.Tasks[0]]
		if t.Base = before.Branch; !slices.Contains(t.After, before.ID) { // the task is of an earlier wave
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

// merge returns the merge task for the work that t starts from. It adds the task if
// there is none yet.
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

// checkedOut names the commit that is checked out in the project's own folder.
const checkedOut = "HEAD"

// repoOf returns the folder of the repository that a task works in, or "" for the
// project's.
func repoOf(t plan.Task) string {
	if t.Dispatch != nil {
		return t.Dispatch.Repo
	}
	return ""
}

// listed names the tasks, or the first few and the number of the others.
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

// ids holds the task ids of a plan.
type ids map[string]bool

func idsOf(p plan.Plan) ids {
	taken := ids{}
	for _, t := range p.Tasks {
		taken[t.ID] = true
	}
	return taken
}

// free returns an unused id and reserves it.
func (taken ids) free(want string) string {
	id := want
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", want, n)
	}
	taken[id] = true
	return id
}

// add appends a task whose branch is merged.
func (j *mergeStep) add(t plan.Task) {
	j.Tasks, j.Names = append(j.Tasks, t.ID), append(j.Names, t.Name)
}

// ending returns the final step of a workflow, and false if there is nothing to do.
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

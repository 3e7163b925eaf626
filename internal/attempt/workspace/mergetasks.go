package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/plan"
)

// AddMergeTasks returns the plan with additional tasks, which merge the branches of other tasks. A
// workflow consists of waves. The tasks of a wave run at the same time, and the waves run one after
// the other. A workflow gets a merge task after each wave of several tasks and, if needed, one at
// the end. Other plans get a merge task before each task that needs the work of several tasks. So a
// merge conflict is the failure of a task, which the user can see, repair and retry. A team of
// agents gets no merge tasks, because package teammerge merges its work.
func AddMergeTasks(p plan.Plan, run string) (plan.Plan, error) {
	switch {
	case p.Team != nil:
		return p, nil
	case p.Workflow != nil:
		return addMergesOfWaves(p, run)
	}
	return addMergesOfPredecessors(p, run)
}

// RemoveMergeTasks is the reverse of [AddMergeTasks], for the plan of a run that is not a workflow.
// It removes the merge tasks, the branches that AddMergeTasks gave to other tasks, and the bases of
// all tasks, which are where their branches start. It leaves one change in place: if AddMergeTasks
// let a task start from the branch of another task, the id of that other task stays in the field
// After of the first task.
func RemoveMergeTasks(p plan.Plan, run string) plan.Plan {
	added := map[string]bool{}
	for _, t := range p.Tasks {
		added[t.ID] = t.Agent == MergeAgent
	}
	var tasks []plan.Task
	for _, t := range p.Tasks {
		if added[t.ID] {
			continue
		}
		if t.Branch == worktree.BranchOf(run, t.ID) {
			t.Branch = ""
		}
		t.Base = ""
		if t.After = slices.DeleteFunc(slices.Clone(t.After), func(id string) bool { return added[id] }); len(t.After) == 0 {
			t.After = nil
		}
		tasks = append(tasks, t)
	}
	p.Tasks = tasks
	return p
}

// addMergesOfWaves adds the merge tasks of a workflow, see [AddMergeTasks]. It renumbers the waves:
// the tasks of wave n get the wave 2n-1, and their merge task gets the wave 2n.
func addMergesOfWaves(p plan.Plan, run string) (plan.Plan, error) {
	byWave, last := map[int][]plan.Task{}, 0
	for _, t := range p.Tasks {
		byWave[t.Wave] = append(byWave[t.Wave], t)
		last = max(last, t.Wave)
	}
	ids := idsOf(p)
	tasks := make([]plan.Task, 0, len(p.Tasks)+last+1)
	for wave := 1; wave <= last; wave++ {
		s := mergeStep{Run: run, Into: p.Workflow.Branch}
		for _, t := range byWave[wave] {
			t.Wave = 2*wave - 1
			if t.Worktree {
				s.add(t)
			} else { // the only task of its wave works directly on the workflow's branch
				t.SharedWorktree, t.Branch = workflowTree, p.Workflow.Branch
			}
			tasks = append(tasks, t)
		}
		if len(s.Tasks) == 0 {
			continue
		}
		t, err := s.task(ids.reserve(fmt.Sprintf("merge-%d", wave)), fmt.Sprintf("Merge wave %d into %s", wave, p.Workflow.Branch))
		if err != nil {
			return p, err
		}
		t.Wave = 2 * wave
		tasks = append(tasks, t)
	}
	end := mergeStep{Run: run, Remove: p.Workflow.OnComplete.DeleteWorktree}
	switch w := p.Workflow; {
	case w.OnComplete.MergeTo != "":
		end.Into, end.Branch = w.OnComplete.MergeTo, w.Branch
	case w.OnComplete.CreatePR:
		end.Open, end.Branch = w.Base, w.Branch
	}
	if end.Into != "" || end.Open != "" || end.Remove {
		t, err := end.task(ids.reserve("finish"), "Finish the workflow")
		if err != nil {
			return p, err
		}
		t.Wave = 2*last + 1
		tasks = append(tasks, t)
	}
	p.Tasks = tasks
	return p, nil
}

// addMergesOfPredecessors gives each task with a worktree a branch, and sets where that branch
// starts. If the task needs the work of only one other task, its branch starts at the branch of
// that task. If it needs the work of several tasks, a new merge task merges their work into a new
// branch, and the task's branch starts there. Tasks that need the same work share one merge task.
func addMergesOfPredecessors(p plan.Plan, run string) (plan.Plan, error) {
	repos := map[string]bool{}
	for _, t := range p.Tasks {
		if t.SharedWorktree != "" { // keep the plan unchanged: it already says where the shared worktrees start
			return p, nil
		}
		if t.HasWorktree() {
			repos[repoOf(t)] = true
		}
	}
	if len(repos) == 0 {
		return p, nil
	}
	m := mergePlanner{run: run, tasks: slices.Clone(p.Tasks), ids: idsOf(p), merges: map[string]mergeTask{}, byList: map[*int]mergeTask{}}
	for i, t := range m.tasks {
		if t.HasWorktree() && t.Branch == "" {
			m.tasks[i].Branch = worktree.BranchOf(run, t.ID)
		}
	}
	// before[i] has the merge tasks that must be inserted before the task with the index i.
	before := make([][]plan.Task, len(p.Tasks))
	for _, repo := range slices.Sorted(maps.Keys(repos)) {
		origins := p.Origins(func(t plan.Task) bool { return repoOf(t) == repo })
		for i := range m.tasks {
			if t := &m.tasks[i]; t.HasWorktree() && repoOf(*t) == repo {
				added, err := m.setBase(t, origins[i])
				if err != nil {
					return p, err
				}
				before[i] = added
			}
		}
	}
	p.Tasks = nil
	for i, t := range m.tasks {
		p.Tasks = append(append(p.Tasks, before[i]...), t)
	}
	return p, nil
}

// mergePlanner is the state of [addMergesOfPredecessors] while it changes a plan.
type mergePlanner struct {
	run   string
	tasks []plan.Task
	ids   ids
	// merges has the added merge tasks. A key consists of the repository, the commit or branch at
	// which the merge starts, and the ids of the merged tasks.
	merges map[string]mergeTask
	// byList is a second index of the added merge tasks, which avoids building the keys of merges.
	// A key is the address of the first element of [plan.Origin.Tasks]. Such keys work because
	// tasks with the same origin often share that slice.
	byList map[*int]mergeTask
	n      int // number of added merge tasks
}

// mergeTask has the id of a merge task, and the name of the branch that it merges into.
type mergeTask struct{ task, branch string }

// setBase sets the base of task t, which is where its branch starts. The parameter from says which
// work t needs. If the base is the branch of another task, setBase makes t wait for that task. If
// that other task is a new merge task, setBase returns it in added.
func (m *mergePlanner) setBase(t *plan.Task, from plan.Origin) (added []plan.Task, err error) {
	switch {
	case len(from.Tasks) == 0 && from.Checkout:
		t.Base = checkedOut
		return nil, nil
	case len(from.Tasks) == 0:
		return nil, nil
	case len(from.Tasks) == 1 && !from.Checkout:
		before := m.tasks[from.Tasks[0]]
		if t.Base = before.Branch; !slices.Contains(t.After, before.ID) {
			// t.After may lack the other task, for example if that task belongs to an earlier wave
			// of tasks. Add it, because t starts from its branch.
			t.After = append(slices.Clip(t.After), before.ID)
		}
		return nil, nil
	}
	shared, known := m.byList[&from.Tasks[0]]
	if !known {
		if shared, added, err = m.merge(repoOf(*t), from); err != nil {
			return nil, err
		}
		m.byList[&from.Tasks[0]] = shared
	}
	t.Base, t.After = shared.branch, append(slices.Clip(t.After), shared.task)
	return added, nil
}

// merge returns the merge task for the tasks with the indexes from.Tasks. If there is no such merge
// task yet, it creates one and also returns it in added.
func (m *mergePlanner) merge(repo string, from plan.Origin) (_ mergeTask, added []plan.Task, err error) {
	s := mergeStep{Run: m.run, Repo: repo, Start: m.tasks[from.Tasks[0]].Branch}
	if from.Checkout {
		s.Start = checkedOut
	}
	for _, i := range from.Tasks {
		s.add(m.tasks[i])
	}
	key := fmt.Sprintf("%q %q %q", s.Repo, s.Start, s.Tasks)
	if known, ok := m.merges[key]; ok {
		return known, nil, nil
	}
	m.n++
	id := m.ids.reserve(fmt.Sprintf("merge-%d", m.n))
	merge := mergeTask{id, worktree.BranchOf(m.run, id)}
	s.Into = merge.branch
	task, err := s.task(id, "Merge "+shortList(s.Tasks))
	task.After = s.Tasks
	m.merges[key] = merge
	return merge, []plan.Task{task}, err
}

// checkedOut is the base of a branch that starts at the commit that is checked out in the task's
// repository.
const checkedOut = "HEAD"

// repoOf returns the path of the repository that a task works in, or "" for the project's
// repository.
func repoOf(t plan.Task) string {
	if t.Dispatch != nil {
		return t.Dispatch.Repo
	}
	return ""
}

// shortList returns a list of tasks for the title of a merge task. If there are more than four
// tasks, it names the first three and counts the others. If there is only one task, its work is
// merged with the commit that is checked out in the task's repository, and the title says so.
func shortList(tasks []string) string {
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

// reserve returns the wanted id, with a number appended if that id is used. It marks the result as
// used.
func (taken ids) reserve(wanted string) string {
	id := wanted
	for n := 2; taken[id]; n++ {
		id = fmt.Sprintf("%s-%d", wanted, n)
	}
	taken[id] = true
	return id
}

// add adds task t to the tasks whose branches the step merges.
func (s *mergeStep) add(t plan.Task) {
	s.Tasks, s.Names = append(s.Tasks, t.ID), append(s.Names, t.Name)
}

// task returns the task of the plan that performs the merge step.
func (s mergeStep) task(id, name string) (plan.Task, error) {
	text, err := json.Marshal(s)
	return plan.Task{ID: id, Name: name, Agent: MergeAgent, Prompt: string(text), QuestionRules: plan.QuestionRules{Questions: plan.Deny}}, err
}

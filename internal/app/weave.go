package app

import (
	"encoding/json"
	"fmt"

	"gaffer/internal/plan"
)

// joinAgent is the agent of the tasks that bring worktrees together: gaffer
// itself, with a joint as its prompt.
const joinAgent = "gaffer-join"

// joint is what is done between the waves of a workflow, and after the last.
type joint struct {
	Run    string   `json:"run"`
	Into   string   `json:"into,omitempty"`
	Tasks  []string `json:"tasks,omitempty"`  // whose branches are merged, in order
	Branch string   `json:"branch,omitempty"` // merged after them
	Remove bool     `json:"remove,omitempty"` // the worktrees of the run, when all is merged
	Open   string   `json:"open,omitempty"`   // the base of a pull request to open
}

// weave adds to a workflow the tasks that merge its branches: one after each
// wave of several, and one at the end for what is to follow. So a conflict is a
// task that a person sees, and can put right and retry. Other plans leave their
// branches as they are.
func weave(p plan.Plan, run string) (plan.Plan, error) {
	if p.Workflow == nil {
		return p, nil
	}
	byWave, last := map[int][]plan.Task{}, 0
	for _, t := range p.Tasks {
		byWave[t.Wave] = append(byWave[t.Wave], t)
		last = max(last, t.Wave)
	}
	woven := make([]plan.Task, 0, len(p.Tasks)+last+1)
	for wave := 1; wave <= last; wave++ {
		j := joint{Run: run, Into: p.Workflow.Branch}
		for _, t := range byWave[wave] {
			t.Wave = 2*wave - 1
			if t.Worktree {
				j.Tasks = append(j.Tasks, t.ID)
			}
			woven = append(woven, t)
		}
		if len(j.Tasks) == 0 {
			continue
		}
		t, err := j.task(fmt.Sprintf("merge-%d", wave), fmt.Sprintf("Merge wave %d into %s", wave, p.Workflow.Branch), 2*wave)
		if err != nil {
			return p, err
		}
		woven = append(woven, t)
	}
	if end, ok := ending(p.Workflow, run); ok {
		t, err := end.task("finish", "Finish the workflow", 2*last+1)
		if err != nil {
			return p, err
		}
		woven = append(woven, t)
	}
	p.Tasks = woven
	return p, nil
}

// ending is what follows when a workflow's last prompt is done.
func ending(w *plan.Workflow, run string) (joint, bool) {
	j := joint{Run: run, Remove: w.OnComplete.DeleteWorktree}
	switch {
	case w.OnComplete.MergeTo != "":
		j.Into, j.Branch = w.OnComplete.MergeTo, w.Branch
	case w.OnComplete.CreatePR:
		j.Open, j.Branch = w.Base, w.Branch
	}
	return j, j.Into != "" || j.Open != "" || j.Remove
}

func (j joint) task(id, name string, wave int) (plan.Task, error) {
	text, err := json.Marshal(j)
	return plan.Task{ID: id, Name: name, Wave: wave, Agent: joinAgent, Prompt: string(text), Questions: plan.Deny}, err
}

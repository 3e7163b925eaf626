package lookout

import (
	"encoding/json"

	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/internal/store"
)

// View returns a run as others see it.
func (l *Lookout) View(r store.Reader, id string) (fleet.Run, error) {
	run, err := r.Run(id)
	if err != nil {
		return fleet.Run{}, Missing(err, "run", id)
	}
	v := l.runOf(run)
	tasks, err := r.Tasks(id)
	if err != nil {
		return v, err
	}
	questions, err := openQuestions(r, id)
	if err != nil {
		return v, err
	}
	v.Tasks = make([]fleet.Task, len(tasks))
	for i, t := range tasks {
		if v.Tasks[i], err = l.taskOf(r, t); err != nil {
			return v, err
		}
		v.Tasks[i].Question = questions[t.Task]
		v.Counts.Add(v.Tasks[i].Status)
	}
	v.Lanes, err = pausedLanes(r)
	return v, err
}

func (l *Lookout) runOf(run store.Run) fleet.Run {
	v := fleet.Run{
		ID: run.ID, Name: run.Name, Status: fleet.Status(run.Status), Project: run.Project, SourceFile: run.SourceFile,
		Parallel: run.Parallel, Stopping: run.Stopping, Spent: costOf(run.Spent), Budget: costOf(run.Budget),
		Created: run.Created, Ended: run.Ended, Tasks: []fleet.Task{},
	}
	if l.opts.Adorn != nil {
		l.opts.Adorn(&v, run)
	}
	return v
}

func costOf(a store.Amount) fleet.Cost {
	return fleet.Cost{USD: float64(a.MicroUSD) / 1e6, Tokens: a.Tokens}
}

func (l *Lookout) taskOf(r store.Reader, t store.Task) (fleet.Task, error) {
	var spec plan.Task
	if err := json.Unmarshal(t.Spec, &spec); err != nil {
		return fleet.Task{}, err
	}
	v := fleet.Task{
		Run: t.Run, ID: t.Task, Name: t.Name, Status: fleet.Status(t.Status), Wave: t.Wave, After: t.Needs,
		Agent: spec.Agent, Model: spec.Model, Tries: t.Tries, Retries: t.Retries, Outcome: t.Outcome, RetryAt: t.NotBefore,
		Branch: spec.Branch, Prompt: spec.Prompt,
	}
	if spec.Dispatch != nil {
		v.Session = spec.Dispatch.Session
	}
	if l.opts.AdornTask != nil {
		l.opts.AdornTask(&v, spec)
	}
	id := t.Attempt
	if id == "" {
		id = t.Last
	}
	if id == "" {
		return v, nil
	}
	attempt, err := r.Attempt(id)
	if err != nil {
		return v, err
	}
	v.Attempt = attemptOf(attempt)
	return v, nil
}

func attemptOf(a store.Attempt) *fleet.Attempt {
	v := &fleet.Attempt{
		ID: a.ID, Number: a.Number, Status: fleet.Status(a.Status), Worker: a.Worker, Class: a.Class, Summary: a.Summary,
		Exit: a.Exit, Thread: a.Thread, Log: a.Log, PID: a.PID, Started: a.Started, Ended: a.Ended, Spent: costOf(a.Spent),
		State: a.State, Doing: a.Doing, Source: a.Source, Said: a.Said,
	}
	if len(a.Checks) > 0 {
		_ = json.Unmarshal(a.Checks, &v.Checks) // the worker wrote them
	}
	return v
}

func openQuestions(r store.Reader, run string) (map[string]*fleet.Question, error) {
	list, err := r.Questions(true)
	byTask := map[string]*fleet.Question{}
	for _, q := range list {
		if q.Run != run || byTask[q.Task] != nil { // the oldest first
			continue
		}
		v := &fleet.Question{ID: q.ID, Run: q.Run, Task: q.Task, Text: q.Text, Asked: q.Asked, Expires: q.Expires, Default: q.Default}
		if len(q.Options) > 0 {
			_ = json.Unmarshal(q.Options, &v.Options) // the engine wrote them
		}
		byTask[q.Task] = v
	}
	return byTask, err
}

func pausedLanes(r store.Reader) (paused []fleet.Lane, err error) {
	lanes, err := r.Lanes()
	for _, lane := range lanes {
		if !lane.Until.IsZero() {
			paused = append(paused, fleet.Lane{Name: lane.Name, Until: lane.Until, Reason: lane.Reason})
		}
	}
	return paused, err
}

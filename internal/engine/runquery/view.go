package runquery

import (
	"cmp"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// View reads the run with an id, its tasks and their open questions with r. [Querier.Run] does the
// same in a transaction of its own.
func (l *Querier) View(r store.Reader, id string) (fleet.Run, error) {
	run, err := r.Run(id)
	if err != nil {
		return fleet.Run{}, NotFoundAs(err, "run", id)
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
	v.Lanes, err = pausedAccounts(r)
	return v, err
}

func (l *Querier) runOf(run store.Run) fleet.Run {
	v := RunOf(run)
	if l.opts.Annotate != nil {
		l.opts.Annotate(&v, run)
	}
	return v
}

func (l *Querier) taskOf(r store.Reader, t store.Task) (fleet.Task, error) {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return fleet.Task{}, err
	}
	v := TaskOf(t, spec)
	if l.opts.AnnotateTask != nil {
		l.opts.AnnotateTask(&v, spec)
	}
	id := cmp.Or(t.RunningAttempt, t.LastAttempt)
	if id == "" {
		return v, nil
	}
	attempt, err := r.Attempt(id)
	if err != nil {
		return v, err
	}
	v.Attempt = AttemptOf(attempt)
	return v, nil
}

func openQuestions(r store.Reader, run string) (map[string]*fleet.Question, error) {
	list, err := r.Questions(true)
	byTask := map[string]*fleet.Question{}
	for _, q := range list {
		if q.Run != run || byTask[q.Task] != nil { // the oldest question comes first: keep only this one of each task
			continue
		}
		v := QuestionOf(q)
		byTask[q.Task] = &v
	}
	return byTask, err
}

func pausedAccounts(r store.Reader) (paused []fleet.Lane, err error) {
	accounts, err := r.Accounts()
	for _, account := range accounts {
		if !account.Until.IsZero() {
			paused = append(paused, fleet.Lane{Name: account.Name, Until: account.Until, Reason: account.Reason, Free: hasFreeAccount(accounts, account)})
		}
	}
	return paused, err
}

// hasFreeAccount reports whether the agent of a paused account has another account that is not
// paused. all are the rows of all accounts.
func hasFreeAccount(all []store.Account, paused store.Account) bool {
	agent, _, _ := strings.Cut(paused.Name, "/")
	row := func(name string) (a store.Account) {
		if i := slices.IndexFunc(all, func(a store.Account) bool { return a.Name == name }); i >= 0 {
			a = all[i]
		}
		return a
	}
	base, _ := plan.SplitAgent(agent)
	pool := row(agent).Pool
	if len(pool) == 0 {
		pool = row(base).Pool // a fallback such as claude:haiku has no pool of its own; it uses the accounts of claude
	}
	return slices.ContainsFunc(pool, func(name string) bool { return row(engine.AccountName(agent, name)).Until.IsZero() })
}

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

// View returns the run with the given id, with its tasks and their open questions. It reads them
// with r. [Querier.Run] does the same in its own read transaction.
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
		// The list begins with the oldest question. Keep only the oldest question of each task.
		if q.Run != run || byTask[q.Task] != nil {
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

// hasFreeAccount reports whether an agent has an account that is not paused. The parameter paused
// is one of the agent's paused accounts; its name determines the agent. The parameter all contains
// the accounts of all agents.
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
		// The store has no list of accounts for a fallback agent with a model, such as
		// claude:haiku. Such an agent uses the accounts of claude.
		pool = row(base).Pool
	}
	return slices.ContainsFunc(pool, func(name string) bool { return row(engine.AccountName(agent, name)).Until.IsZero() })
}

package runquery

import (
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// glanceBack is how long ago a run that has ended today may have begun. Nobody
// waits for a prompt until all runs of a year are read.
const glanceBack = 30 * 24 * time.Hour

// Glance says in a few numbers what runs in a project, or in all if it is empty. Of
// the open questions it counts those of runs. The others are returned: the store
// does not know which project they belong to.
func Glance(r store.Reader, project string, now time.Time) (g fleet.Glance, others []fleet.Question, err error) {
	year, month, day := now.Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	runs, err := runsOf(r, project, today)
	if err != nil {
		return g, nil, err
	}
	var spent store.Amount
	for _, run := range runs {
		g.Failed += run.Failed
		if run.Status == store.Running {
			g.Running += run.Active
		}
		if err := addEnded(r, run, today, &spent); err != nil {
			return g, nil, err
		}
	}
	if others, err = addQuestions(r, runs, now, &g); err != nil {
		return g, nil, err
	}
	if err := addRunning(r, runs, today, &spent); err != nil {
		return g, nil, err
	}
	g.Today = costOf(spent)
	g.Lanes, err = pausedLanes(r)
	g.Lanes = slices.DeleteFunc(g.Lanes, func(l fleet.Lane) bool { return !l.Until.After(now) })
	return g, others, err
}

// runsOf are the runs that run or have ended today, by their ids.
func runsOf(r store.Reader, project string, today time.Time) (map[string]store.Run, error) {
	list, err := recentRuns(r, today.Add(-glanceBack))
	runs := map[string]store.Run{}
	for _, run := range list {
		ours := project == "" || run.Project == project
		if ours && (run.Status == store.Running || !run.Ended.Before(today)) {
			runs[run.ID] = run
		}
	}
	return runs, err
}

// addEnded adds what the attempts of a run cost that have begun today and ended.
func addEnded(r store.Reader, run store.Run, today time.Time, spent *store.Amount) error {
	if run.Spent == (store.Amount{}) {
		return nil
	}
	if !run.Created.Before(today) {
		addAmount(spent, run.Spent)
		return nil
	}
	attempts, err := attemptsSince(r, run.ID, today)
	for _, a := range attempts {
		if a.Status != store.Running {
			addAmount(spent, a.Spent)
		}
	}
	return err
}

// addRunning adds what the attempts cost that run now, as far as is known.
func addRunning(r store.Reader, runs map[string]store.Run, today time.Time, spent *store.Amount) error {
	attempts, err := store.RunningAttempts(r)
	for _, a := range attempts {
		if _, ours := runs[a.Run]; ours && !a.Started.Before(today) {
			addAmount(spent, a.Spent)
		}
	}
	return err
}

// addQuestions counts the open questions of runs, and returns those that belong to
// no run.
func addQuestions(r store.Reader, runs map[string]store.Run, now time.Time, g *fleet.Glance) (others []fleet.Question, err error) {
	questions, err := r.Questions(true)
	tasks := map[store.TaskKey]bool{}
	for _, q := range questions {
		run, task := q.Run, q.Task
		if q.Aside() {
			if q.Expires.Before(now) {
				continue // nobody has swept it yet
			}
			var ofTask bool
			if run, task, ofTask = strings.Cut(q.Task, "/"); !ofTask {
				others = append(others, QuestionOf(q))
				continue
			}
		}
		if _, ours := runs[run]; ours {
			g.Ask(fleet.QuestionName(run, task), q.Asked)
			tasks[store.TaskKey{Run: run, Task: task}] = true
		}
	}
	g.Running = max(g.Running-len(tasks), 0)
	return others, err
}

func addAmount(to *store.Amount, a store.Amount) {
	to.MicroUSD += a.MicroUSD
	to.Tokens += a.Tokens
}

// recentRuns are the runs that run, and those that were made since then.
func recentRuns(r store.Reader, since time.Time) ([]store.Run, error) {
	if quick, ok := r.(interface {
		RunsSince(time.Time) ([]store.Run, error)
	}); ok {
		return quick.RunsSince(since)
	}
	return r.Runs()
}

// attemptsSince are the attempts of a run that have begun since then.
func attemptsSince(r store.Reader, run string, since time.Time) (list []store.Attempt, err error) {
	if quick, ok := r.(interface {
		AttemptsSince(string, time.Time) ([]store.Attempt, error)
	}); ok {
		return quick.AttemptsSince(run, since)
	}
	tasks, err := r.Tasks(run)
	for _, t := range tasks {
		attempts, err := r.Attempts(t.TaskKey)
		if err != nil {
			return nil, err
		}
		for _, a := range attempts {
			if !a.Started.Before(since) {
				list = append(list, a)
			}
		}
	}
	return list, err
}

package runquery

import (
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// maxSummaryAge limits the age of the runs in a summary: a run that has ended is included only if
// it was created at most this long before today. Shell prompts show the summary, so it must be fast
// and cannot read the runs of a whole year.
const maxSummaryAge = 30 * 24 * time.Hour

// ProjectSummary returns how many tasks are running or have failed, which questions are open, and
// what today's attempts have cost. It includes only runs of the project that are running or have
// ended today. If project is empty, it includes the runs of all projects.
//
// The result others contains the open questions that belong to no run. The store does not know to
// which project they belong, so the caller must decide whether to add them to the summary.
func ProjectSummary(r store.Reader, project string, now time.Time) (g fleet.Summary, others []fleet.Question, err error) {
	year, month, day := now.Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	runs, err := projectRuns(r, project, today)
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
	g.Lanes, err = pausedAccounts(r)
	g.Lanes = slices.DeleteFunc(g.Lanes, func(l fleet.Lane) bool { return !l.Until.After(now) })
	return g, others, err
}

// projectRuns returns the runs of a project that are running or have ended today. The keys of the
// map are the ids of the runs.
func projectRuns(r store.Reader, project string, today time.Time) (map[string]store.Run, error) {
	list, err := recentRuns(r, today.Add(-maxSummaryAge))
	runs := map[string]store.Run{}
	for _, run := range list {
		ours := project == "" || run.Project == project
		if ours && (run.Status == store.Running || !run.Ended.Before(today)) {
			runs[run.ID] = run
		}
	}
	return runs, err
}

// addEnded adds the cost of the run's ended attempts to the parameter spent. It leaves out attempts
// that started before today.
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

// addRunning adds what running attempts have cost so far to the parameter spent. It includes only
// attempts that started today and belong to one of the given runs.
func addRunning(r store.Reader, runs map[string]store.Run, today time.Time, spent *store.Amount) error {
	attempts, err := store.RunningAttempts(r)
	for _, a := range attempts {
		if _, ours := runs[a.Run]; ours && !a.Started.Before(today) {
			addAmount(spent, a.Spent)
		}
	}
	return err
}

// addQuestions adds the open questions of the given runs to the summary g. The tasks that wait for
// an answer no longer count as running: addQuestions subtracts them from g.Running.
//
// If a question belongs to no run, its field Task contains the name of the asking agent. If this
// name has the form RUN/TASK, addQuestions treats the question as a question of that task. It
// returns the other questions without a run, unless they have expired.
func addQuestions(r store.Reader, runs map[string]store.Run, now time.Time, g *fleet.Summary) (others []fleet.Question, err error) {
	questions, err := r.Questions(true)
	tasks := map[store.TaskKey]bool{}
	for _, q := range questions {
		run, task := q.Run, q.Task
		if q.Standalone() {
			if q.Expires.Before(now) {
				continue // the question has expired, but is not closed yet
			}
			var ofTask bool
			if run, task, ofTask = strings.Cut(q.Task, "/"); !ofTask {
				others = append(others, QuestionOf(q))
				continue
			}
		}
		if _, ours := runs[run]; ours {
			g.AddQuestion(fleet.QuestionName(run, task), q.Asked)
			tasks[store.TaskKey{Run: run, Task: task}] = true
		}
	}
	g.Running = max(g.Running-len(tasks), 0)
	return others, err
}

func addAmount(to *store.Amount, a store.Amount) {
	*to = to.Add(a)
}

// recentRuns returns the running runs, and the runs that were created at the time start or later.
// If the reader r has no method RunsSince, recentRuns returns all runs.
func recentRuns(r store.Reader, start time.Time) ([]store.Run, error) {
	if quick, ok := r.(interface {
		RunsSince(time.Time) ([]store.Run, error)
	}); ok {
		return quick.RunsSince(start)
	}
	return r.Runs()
}

// attemptsSince returns those attempts of a run that started at the time start or later.
func attemptsSince(r store.Reader, run string, start time.Time) (list []store.Attempt, err error) {
	if quick, ok := r.(interface {
		AttemptsSince(string, time.Time) ([]store.Attempt, error)
	}); ok {
		return quick.AttemptsSince(run, start)
	}
	tasks, err := r.Tasks(run)
	for _, t := range tasks {
		attempts, err := r.Attempts(t.TaskKey)
		if err != nil {
			return nil, err
		}
		for _, a := range attempts {
			if !a.Started.Before(start) {
				list = append(list, a)
			}
		}
	}
	return list, err
}

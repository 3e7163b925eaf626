package runquery

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// Summaries returns the first of the runs that [Querier.Runs] would return, at most limit runs, and
// without their tasks.
func (l *Querier) Summaries(ctx context.Context, project string, ended bool, limit int) (list []fleet.Run, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		list = nil
		rows, err := l.Latest(r, project, ended, limit)
		if err != nil {
			return err
		}
		accounts, err := pausedAccounts(r)
		if err != nil {
			return err
		}
		for _, row := range rows {
			v, err := l.summary(r, row)
			if err != nil {
				return err
			}
			v.Lanes = accounts
			list = append(list, v)
		}
		return nil
	})
	return list, err
}

// Latest returns the rows of the first of the runs that [Querier.Runs] would return, at most limit
// rows. The rows may lack the plans of the runs: a store that can read rows without the large plans
// does so here.
func (l *Querier) Latest(r store.Reader, project string, ended bool, limit int) (list []store.Run, err error) {
	quick, ok := r.(store.Summaries)
	if !ok {
		rows, err := l.Rows(r, project, ended)
		return rows[:min(len(rows), limit)], err
	}
	const page = 200
	for from := 0; len(list) < limit; from += page {
		rows, err := quick.LatestRuns(!ended, from, page)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if l.shows(row, project) && len(list) < limit {
				list = append(list, row)
			}
		}
		if len(rows) < page {
			break
		}
	}
	return list, nil
}

func (l *Querier) summary(r store.Reader, row store.Run) (v fleet.Run, err error) {
	if row.Conducted && row.Plan == nil && l.opts.Annotate != nil {
		// Read the run again, this time with its plan, which Options.Annotate needs.
		if row, err = r.Run(row.ID); err != nil {
			return v, err
		}
	}
	v = l.runOf(row)
	v.Counts, err = Count(r, row.ID)
	return v, err
}

// Count returns how many tasks of a run have each status.
func Count(r store.Reader, run string) (c fleet.Counts, err error) {
	if quick, ok := r.(store.Summaries); ok {
		counts, err := quick.TaskCounts(run)
		for status, n := range counts {
			c.Count(fleet.Status(status), n)
		}
		return c, err
	}
	tasks, err := r.Tasks(run)
	for _, t := range tasks {
		c.Add(fleet.Status(t.Status))
	}
	return c, err
}

// Summary returns the run with the given id, without its tasks.
func (l *Querier) Summary(ctx context.Context, id string) (v fleet.Run, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		row, err := r.Run(id)
		if err != nil {
			return NotFoundAs(err, "run", id)
		}
		v, err = l.summary(r, row)
		return err
	})
	return v, err
}

// Task returns a task. The result contains the latest attempt and the oldest open question of the
// task, if it has any.
func (l *Querier) Task(ctx context.Context, key store.TaskKey) (v fleet.Task, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		row, err := r.Task(key)
		if err != nil {
			return NotFoundAs(err, "task", key.Run+"/"+key.Task)
		}
		if v, err = l.taskOf(r, row); err != nil {
			return err
		}
		questions, err := openQuestions(r, key.Run)
		v.Question = questions[key.Task]
		return err
	})
	return v, err
}

// Attempts returns all attempts at a task, oldest first.
func (l *Querier) Attempts(ctx context.Context, key store.TaskKey) (list []fleet.Attempt, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		list = nil
		if _, err := r.Task(key); err != nil {
			return NotFoundAs(err, "task", key.Run+"/"+key.Task)
		}
		rows, err := r.Attempts(key)
		for _, row := range rows {
			list = append(list, *AttemptOf(row))
		}
		return err
	})
	return list, err
}

// Lanes returns the accounts of agents that are paused, for example because of a rate limit. It
// also returns those of the user's cost limits that have been reached.
func (l *Querier) Lanes(ctx context.Context) (paused []fleet.Lane, err error) {
	err = l.store.Read(ctx, func(r store.Reader) (err error) {
		paused, err = pausedAccounts(r)
		return err
	})
	return paused, err
}

// AllQuestions returns all questions of a run, including closed ones, oldest first.
func (l *Querier) AllQuestions(ctx context.Context, run string) (list []fleet.QuestionRecord, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		list = nil
		if _, err := r.Run(run); err != nil {
			return NotFoundAs(err, "run", run)
		}
		rows, err := r.QuestionsOf(run)
		for _, row := range rows {
			list = append(list, fleet.QuestionRecord{Question: QuestionOf(row), Answered: AnsweredOf(row), At: row.Answered})
		}
		return err
	})
	return list, err
}

// Questions returns the open questions of a run, or of all runs if run is empty, oldest
// first.
func (l *Querier) Questions(ctx context.Context, run string) (list []fleet.Question, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		list = nil
		read := func() ([]store.Question, error) { return r.Questions(true) }
		if run != "" {
			read = func() ([]store.Question, error) { return r.QuestionsOf(run) }
		}
		rows, err := read()
		for _, row := range rows {
			if !row.Closed {
				list = append(list, QuestionOf(row))
			}
		}
		return err
	})
	return list, err
}

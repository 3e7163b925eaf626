package runs

import (
	"context"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/engine/store"
)

// Lanes implements [server.Runs].
func (d *runReader) Lanes(ctx context.Context) ([]fleet.Lane, error) { return d.query.Lanes(ctx) }

// RunAttempts implements [server.Runs].
func (d *runReader) RunAttempts(ctx context.Context, run string) (list []coordinator.AttemptChange, err error) {
	err = d.runs.read(ctx, run, func(r store.Reader) error {
		rows, err := r.AttemptsOf(run)
		list = make([]coordinator.AttemptChange, len(rows))
		for i, row := range rows {
			list[i] = protocol.AttemptOf(row)
		}
		return err
	})
	return list, err
}

// RunQuestions implements [server.Runs].
func (d *runReader) RunQuestions(ctx context.Context, run string) (list []coordinator.QuestionChange, err error) {
	err = d.runs.read(ctx, run, func(r store.Reader) error {
		rows, err := r.QuestionsOf(run)
		list = make([]coordinator.QuestionChange, len(rows))
		for i, row := range rows {
			list[i] = protocol.QuestionOf(row)
		}
		return err
	})
	return list, err
}

// RunChanges implements [server.Runs].
func (d *runReader) RunChanges(ctx context.Context, run string, after int64, limit int) (list []server.Update, next int64, err error) {
	err = d.runs.read(ctx, run, func(r store.Reader) error {
		var last int64
		if list, last, err = protocol.UpdatesOf(r, run, after, limit); err != nil {
			return err
		}
		next = 0
		rest, err := r.EventsOf(run, last, 1)
		if len(rest) > 0 {
			next = last
		}
		return err
	})
	return list, next, err
}

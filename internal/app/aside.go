package app

import (
	"context"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// Questions returns the open questions of agents, oldest first. It drops expired
// questions that belong to no task: without a server no sweep closes them.
func (a *App) Questions(ctx context.Context) ([]fleet.Question, error) {
	list, err := a.query.Questions(ctx, "")
	now := a.clock()()
	return slices.DeleteFunc(list, func(q fleet.Question) bool { return q.Run == "" && q.Expires.Before(now) }), err
}

// Ask stores a question for the user that belongs to no task, and returns its id.
func (a *App) Ask(ctx context.Context, q fleet.Ask) (string, error) {
	return a.engine.AskAside(ctx, engine.Aside{From: q.From, Ref: q.Ref, Text: q.Text, Options: q.Options, Within: q.Within, Attempt: q.Attempt})
}

// Question returns a question's state and answer.
func (a *App) Question(ctx context.Context, id string) (v fleet.Answered, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		q, err := r.Question(id)
		v = runquery.AnsweredOf(q)
		return runquery.Missing(err, "question", id)
	})
	return v, err
}

// Withdraw closes a question that belongs to no task, because its agent no longer waits
// for the answer.
func (a *App) Withdraw(ctx context.Context, question, why string) error {
	return a.engine.Withdraw(ctx, question, why)
}

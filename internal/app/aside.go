package app

import (
	"context"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// Questions are what agents wait for people to decide, the oldest first. Where
// nobody sweeps, the time of one that belongs to no task may be over.
func (a *App) Questions(ctx context.Context) ([]fleet.Question, error) {
	list, err := a.lookout.Questions(ctx, "")
	now := a.clock()()
	return slices.DeleteFunc(list, func(q fleet.Question) bool { return q.Run == "" && q.Expires.Before(now) }), err
}

// Ask asks a person a question that belongs to no task, and returns its id.
func (a *App) Ask(ctx context.Context, q fleet.Ask) (string, error) {
	return a.engine.AskAside(ctx, engine.Aside{From: q.From, Ref: q.Ref, Text: q.Text, Options: q.Options, Within: q.Within, Attempt: q.Attempt})
}

// Question returns what has become of a question.
func (a *App) Question(ctx context.Context, id string) (v fleet.Answered, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		q, err := r.Question(id)
		v = runquery.AnsweredOf(q)
		return runquery.Missing(err, "question", id)
	})
	return v, err
}

// Withdraw closes a question that belongs to no task: nobody waits for the answer
// any more.
func (a *App) Withdraw(ctx context.Context, question, why string) error {
	return a.engine.Withdraw(ctx, question, why)
}

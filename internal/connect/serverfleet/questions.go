package serverfleet

import (
	"cmp"
	"context"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// Ask asks the user a question that belongs to no task, and returns its id.
func (f *Fleet) Ask(ctx context.Context, q fleet.Ask) (string, error) {
	id, err := f.client.Questions.Ask(ctx, coordinator.NewQuestion{
		From: q.From, Ref: q.Ref, Text: q.Text, Options: q.Options, Seconds: q.Within.Seconds(), Attempt: q.Attempt,
	})
	return id, f.problem(err)
}

// Question returns the state of a question and its answer.
func (f *Fleet) Question(ctx context.Context, id string) (fleet.Answered, error) {
	q, err := f.client.Questions.Get(ctx, id)
	return fleet.Answered{Closed: q.Closed, Answer: q.Answer, Denied: q.Denied, By: q.By}, f.problem(err)
}

// Withdraw closes a question that belongs to no task, because the agent no longer waits for the
// answer.
func (f *Fleet) Withdraw(ctx context.Context, question, why string) error {
	return f.problem(f.client.Questions.Withdraw(ctx, question, why))
}

// Questions returns the open questions of agents, oldest first.
func (f *Fleet) Questions(ctx context.Context) ([]fleet.Question, error) {
	list, err := f.client.Questions.List(ctx, "")
	for i, q := range list {
		list[i].Name = cmp.Or(q.Name, fleet.QuestionName(q.Run, q.Task)) // older servers send no name, so compute it
	}
	return list, f.problem(err)
}

package serverfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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

// Question returns the state of an agent's question, and the answer if there is one.
func (f *Fleet) Question(ctx context.Context, id string) (fleet.Answered, error) {
	q, err := f.client.Questions.Get(ctx, id)
	return fleet.Answered{Closed: q.Closed, Answer: q.Answer, Denied: q.Denied, By: q.By}, f.problem(err)
}

// Withdraw closes a question that belongs to no task. The caller uses it when the agent no longer
// waits for the answer, and gives the reason in the parameter why. If the question is already
// closed, Withdraw does nothing.
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

// AllQuestions returns all questions of a run, including closed ones, oldest first.
func (f *Fleet) AllQuestions(ctx context.Context, run string) (list []fleet.QuestionRecord, err error) {
	all, err := f.client.Runs.Questions(ctx, run)
	for _, q := range all {
		list = append(list, fleet.QuestionRecord{
			Question: q.Question, Answered: fleet.Answered{Closed: q.Closed, Answer: q.Answer, Denied: q.Denied, By: q.By}, At: q.Answered,
		})
	}
	return list, f.problem(err)
}

// Grants returns the permission rules that users have made, the oldest first. A user makes such a
// rule by answering a permission request with an answer that also decides later requests. Grants
// leaves out the rules for runs that have ended.
func (f *Fleet) Grants(ctx context.Context) ([]fleet.Grant, error) {
	list, err := f.client.Questions.Grants(ctx)
	return list, f.grantProblem(err)
}

// RemoveGrant removes one of the permission rules that [Fleet.Grants] returns.
func (f *Fleet) RemoveGrant(ctx context.Context, id string) error {
	if err := f.refuse("gaffer permissions revoke"); err != nil {
		return err
	}
	return f.grantProblem(f.client.Questions.RemoveGrant(ctx, id))
}

// Permissions returns a summary of the permission requests that agents have made since the given
// time, in the runs of the project, or of all projects if everywhere is set.
func (f *Fleet) Permissions(ctx context.Context, everywhere bool, since time.Time) ([]fleet.PermissionRequest, error) {
	q := fleet.PermissionQuery{Project: f.opts.Project, Since: since}
	if everywhere {
		q.Project = ""
	}
	list, err := f.client.Questions.Permissions(ctx, q)
	return list, f.grantProblem(err)
}

// grantProblem is like [Fleet.problem], with one difference. An answer to a permission request can
// also decide later requests. If the server is too old to support this, the error says so.
func (f *Fleet) grantProblem(err error) error {
	if refusal, ok := errors.AsType[*coordinator.Error](err); ok && refusal.NotFound() && strings.HasPrefix(refusal.Message, "there is no such path") {
		return &Error{
			fmt.Sprintf("server %s: it is older than this gaffer, and an answer holds for one request only", f.opts.Address),
			"answer without a scope (--for), or update the server", err,
		}
	}
	return f.problem(err)
}

package runs

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/permission"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

const (
	maxName    = 200
	maxOptions = 50
)

// questionService answers the clients' requests about the questions that agents ask users.
type questionService struct {
	store         store.Store
	runs          *visibleRuns
	query         *runquery.Querier
	engine        *engine.Engine
	ensureProcess ensureProcess
}

// Questions implements [server.Runs].
func (d *questionService) Questions(ctx context.Context, run string) ([]fleet.Question, error) {
	if run != "" {
		if err := d.runs.check(ctx, run); err != nil {
			return nil, err
		}
	}
	return d.query.Questions(ctx, run)
}

// Answer implements [server.Runs].
func (d *questionService) Answer(ctx context.Context, by credential.Identity, question string, a fleet.Reply) error {
	if err := cmp.Or(mayChange(by), checkText("text", a.Text, maxAnswer), checkReply(a)); err != nil {
		return err
	}
	if a.Text == "" && !a.Deny {
		return protocol.Invalid("text: is missing")
	}
	err := d.engine.Answer(ctx, engine.Answer{Question: question, Text: a.Text, Deny: a.Deny, Who: clientName(by), Scope: a.Scope, Rule: a.Rule})
	_, late := errors.AsType[*engine.ConflictError](err)
	if err != nil && !late {
		return err
	}
	var q store.Question
	if e := d.store.Read(ctx, func(r store.Reader) (err error) {
		q, err = r.Question(question)
		return err
	}); e != nil {
		return errors.Join(err, e)
	}
	switch {
	case late && q.Answered.IsZero():
		return protocol.Conflict("question_closed", "question %s: no agent waits for an answer any more", question)
	case late:
		return protocol.Conflict("already_answered", "question %s: %s has answered it at %s", question, q.By, q.Answered.UTC().Format(time.RFC3339))
	// A question without a run was asked by a program that itself waits for the answer, so no
	// process needs to be started.
	case q.Run == "":
		return nil
	}
	return d.ensureProcess.after(ctx, q.Run, "it is answered, but ")
}

// checkReply returns an error if the scope of an answer, which says for which later questions it is
// valid, is unknown. If the answer has a permission rule, checkReply also returns an error if the
// rule is not valid, or if the answer is valid for this question only.
func checkReply(a fleet.Reply) error {
	switch {
	case a.Scope != "" && !slices.Contains(fleet.GrantScopes(), a.Scope):
		return protocol.Invalid("scope: found %.40q, want one of %v", a.Scope, fleet.GrantScopes())
	case a.Rule == "":
		return nil
	case !a.Lasting():
		return protocol.Invalid("rule: needs a scope, one of %v", fleet.GrantScopes()[1:])
	}
	if _, err := permission.Parse(a.Rule); err != nil {
		return protocol.Invalid("rule: %v", err)
	}
	return nil
}

// Grants implements [server.Runs].
func (d *questionService) Grants(ctx context.Context) ([]fleet.Grant, error) {
	return d.engine.Grants(ctx, "")
}

// RemoveGrant implements [server.Runs].
func (d *questionService) RemoveGrant(ctx context.Context, by credential.Identity, id string) error {
	if err := mayChange(by); err != nil {
		return err
	}
	return d.engine.RemoveGrant(ctx, id, clientName(by))
}

// Permissions implements [server.Runs].
func (d *questionService) Permissions(ctx context.Context, q fleet.PermissionQuery) ([]fleet.PermissionRequest, error) {
	return d.query.Permissions(ctx, q)
}

// Ask implements [server.Runs].
func (d *questionService) Ask(ctx context.Context, by credential.Identity, q coordinator.NewQuestion) (v coordinator.QuestionChange, err error) {
	if err := checkAsk(q); err != nil {
		return v, err
	}
	within := time.Duration(q.Seconds * float64(time.Second))
	id, err := d.engine.AskStandalone(ctx, engine.StandaloneQuestion{
		From: q.From, Ref: q.Ref, Text: q.Text, Options: q.Options, Within: within, Asker: by.ID, Attempt: q.Attempt,
	})
	if err != nil {
		return v, err
	}
	asked, err := d.mayWithdraw(ctx, by, id)
	return protocol.QuestionOf(asked), err
}

// mayWithdraw returns a question, or an error if the client may not withdraw it. Clients may
// withdraw the questions that they asked. Clients that may change runs may withdraw every question.
func (d *questionService) mayWithdraw(ctx context.Context, by credential.Identity, id string) (q store.Question, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		q, err = r.Question(id)
		return runquery.NotFoundAs(err, "question", id)
	})
	if err == nil && q.Asker != by.ID && mayChange(by) != nil {
		return store.Question{}, protocol.Denied("question %s: another program has asked it", id)
	}
	return q, err
}

func checkAsk(q coordinator.NewQuestion) error {
	err := cmp.Or(checkText("from", q.From, maxName), checkText("ref", q.Ref, maxReason), checkText("text", q.Text, maxAnswer))
	for _, option := range q.Options {
		err = cmp.Or(err, checkText("options", option, maxReason))
	}
	switch {
	case err != nil:
		return err
	// Check only the form of the attempt's id, not whether the attempt exists, because the attempt
	// may be in another gaffer's database.
	case len(q.Attempt) > maxName || strings.Trim(q.Attempt, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return protocol.Invalid("attempt: %.40q is not the id of an attempt", q.Attempt)
	case len(q.Options) > maxOptions:
		return protocol.Invalid("options: are %d, and may be %d", len(q.Options), maxOptions)
	case math.IsNaN(q.Seconds) || q.Seconds > engine.MaxStandaloneWait.Seconds():
		return protocol.Invalid("seconds: may be %g at most", engine.MaxStandaloneWait.Seconds())
	}
	return nil
}

// Question implements [server.Runs].
func (d *questionService) Question(ctx context.Context, id string) (v coordinator.QuestionChange, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		q, err := r.Question(id)
		v = protocol.QuestionOf(q)
		return runquery.NotFoundAs(err, "question", id)
	})
	return v, err
}

// Withdraw implements [server.Runs].
func (d *questionService) Withdraw(ctx context.Context, by credential.Identity, question, why string) error {
	if err := checkText("why", why, maxReason); err != nil {
		return err
	}
	if _, err := d.mayWithdraw(ctx, by, question); err != nil {
		return err
	}
	return d.engine.Withdraw(ctx, question, why)
}

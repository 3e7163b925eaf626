package runs

import (
	"cmp"
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// mayChange returns an error unless the client may change runs.
func mayChange(by credential.Identity) error {
	if by.Role == credential.Admin || by.Role == credential.Operator {
		return nil
	}
	return protocol.Denied("a token of role %s may not do this: use one of role operator or admin", by.Role)
}

const (
	maxReason = 16 << 10
	maxAnswer = 64 << 10
)

func checkText(field, text string, most int) error {
	switch {
	case len(text) > most:
		return protocol.Invalid("%s: has %d bytes, and may have %d", field, len(text), most)
	case !utf8.ValidString(text) || hasZeroByte(text):
		return protocol.Invalid("%s: is not text", field)
	}
	return nil
}

func hasZeroByte(text string) bool {
	for i := range len(text) {
		if text[i] == 0 {
			return true
		}
	}
	return false
}

// change checks that the client may change runs, and that the run exists and is not
// hidden.
func (d *Service) change(ctx context.Context, by credential.Identity, run string) error {
	if err := mayChange(by); err != nil {
		return err
	}
	return d.see(ctx, run)
}

// Cancel implements [server.Runs].
func (d *Service) Cancel(ctx context.Context, by credential.Identity, run, task, why string) error {
	if err := cmp.Or(d.change(ctx, by, run), checkText("why", why, maxReason)); err != nil {
		return err
	}
	if err := d.opts.Engine.Cancel(ctx, engine.Target{Run: run, Task: task}, who(by), why); err != nil {
		return err
	}
	return d.attend(ctx, run, "it is cancelled, but ")
}

// Retry implements [server.Runs].
func (d *Service) Retry(ctx context.Context, by credential.Identity, run, task string) error {
	if err := d.change(ctx, by, run); err != nil {
		return err
	}
	if task == "" {
		return protocol.Invalid("task: is missing")
	}
	if err := d.opts.Engine.Retry(ctx, store.TaskKey{Run: run, Task: task}, who(by), "a person asked for it"); err != nil {
		return err
	}
	return d.attend(ctx, run, "it is queued again, but ")
}

// Resume implements [server.Runs].
func (d *Service) Resume(ctx context.Context, by credential.Identity, run string) error {
	if err := mayChange(by); err != nil {
		return err
	}
	err := d.opts.Store.Read(ctx, func(r store.Reader) error {
		row, err := d.find(r, run)
		if err == nil && row.Status.Final() {
			err = protocol.Conflict("conflict", "run %s: is %s; retry a task of it", run, row.Status)
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.attend(ctx, run, "")
}

// Answer implements [server.Runs].
func (d *Service) Answer(ctx context.Context, by credential.Identity, question, text string, deny bool) error {
	if err := cmp.Or(mayChange(by), checkText("text", text, maxAnswer)); err != nil {
		return err
	}
	if text == "" && !deny {
		return protocol.Invalid("text: is missing")
	}
	err := d.opts.Engine.Answer(ctx, engine.Answer{Question: question, Text: text, Deny: deny, Who: who(by)})
	if _, late := errors.AsType[*engine.ConflictError](err); late {
		return d.tooLate(ctx, question, err)
	}
	if err != nil {
		return err
	}
	var q store.Question
	err = d.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		q, err = r.Question(question)
		return err
	})
	if err != nil || q.Run == "" { // an agent that the user started reads the answer itself
		return err
	}
	return d.attend(ctx, q.Run, "it is answered, but ")
}

// attend starts a process for a run if none works on it. done describes the change that
// is already stored; the error starts with it. A client that disconnects does not stop
// this.
func (d *Service) attend(ctx context.Context, run, done string) error {
	if err := d.opts.Attend(context.WithoutCancel(ctx), run); err != nil {
		return protocol.Conflict("unattended", "%s%s", done, err)
	}
	return nil
}

// tooLate returns an error that says which user answered first, or that the question is
// closed.
func (d *Service) tooLate(ctx context.Context, question string, err error) error {
	var q store.Question
	if e := d.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		q, err = r.Question(question)
		return err
	}); e != nil {
		return errors.Join(err, e)
	}
	if q.Answered.IsZero() {
		return protocol.Conflict("question_closed", "question %s: nobody waits for an answer any more", question)
	}
	return protocol.Conflict("already_answered", "question %s: %s has answered it at %s", question, q.By, q.Answered.UTC().Format(time.RFC3339))
}

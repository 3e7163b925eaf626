package runs

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

const (
	maxName    = 200
	maxOptions = 50
)

// Ask implements [server.Runs].
func (d *Service) Ask(ctx context.Context, by credential.Identity, q coordinator.NewQuestion) (v coordinator.QuestionChange, err error) {
	if err := checkAsk(q); err != nil {
		return v, err
	}
	within := time.Duration(q.Seconds * float64(time.Second))
	id, err := d.opts.Engine.AskAside(ctx, engine.Aside{
		From: q.From, Ref: q.Ref, Text: q.Text, Options: q.Options, Within: within, Asker: by.ID, Attempt: q.Attempt,
	})
	if err != nil {
		return v, err
	}
	asked, err := d.aside(ctx, by, id)
	return protocol.QuestionOf(asked), err
}

// aside returns a question, if the client may ask it again and withdraw it. Clients may
// do so with their own questions, and with all questions if they may answer them.
func (d *Service) aside(ctx context.Context, by credential.Identity, id string) (q store.Question, err error) {
	err = d.opts.Store.Read(ctx, func(r store.Reader) error {
		q, err = r.Question(id)
		return runquery.Missing(err, "question", id)
	})
	if err == nil && q.Asker != by.ID && mayChange(by) != nil {
		return store.Question{}, protocol.Denied("question %s: somebody else has asked it", id)
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
	// An agent of another fleet may ask too; its attempt is not known here.
	case len(q.Attempt) > maxName || strings.Trim(q.Attempt, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return protocol.Invalid("attempt: %.40q is not the id of an attempt", q.Attempt)
	case len(q.Options) > maxOptions:
		return protocol.Invalid("options: are %d, and may be %d", len(q.Options), maxOptions)
	case math.IsNaN(q.Seconds) || q.Seconds > engine.MaxAside.Seconds():
		return protocol.Invalid("seconds: may be %g at most", engine.MaxAside.Seconds())
	}
	return nil
}

// Question implements [server.Runs].
func (d *Service) Question(ctx context.Context, id string) (v coordinator.QuestionChange, err error) {
	err = d.opts.Store.Read(ctx, func(r store.Reader) error {
		q, err := r.Question(id)
		v = protocol.QuestionOf(q)
		return runquery.Missing(err, "question", id)
	})
	return v, err
}

// Withdraw implements [server.Runs].
func (d *Service) Withdraw(ctx context.Context, by credential.Identity, question, why string) error {
	if err := checkText("why", why, maxReason); err != nil {
		return err
	}
	if _, err := d.aside(ctx, by, question); err != nil {
		return err
	}
	return d.opts.Engine.Withdraw(ctx, question, why)
}

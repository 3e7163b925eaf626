package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/engine/store"
)

// StandaloneQuestion is a question that belongs to no run, for example because a user has started
// the asking agent by hand.
type StandaloneQuestion struct {
	From string // name of the asking agent, shown to the user
	// Ref is an id that the agent has chosen for the question, or empty. If the agent asks again
	// with the same Ref, no second question is created.
	Ref     string
	Text    string
	Options []string
	// Within is how long the user has to answer. It must be more than 0 and at most
	// MaxStandaloneWait.
	Within time.Duration
	// Asker is the id of the credential with which the agent asks, or empty if unknown. The agent
	// can withdraw the question with the same credential.
	Asker string
	// Attempt is the id of the attempt to which the asking agent belongs. This attempt waits for
	// the answer. Attempt is empty if gaffer has not started the agent.
	Attempt string
}

// MaxStandaloneWait is the longest time that a question without a task may stay open. Without a
// limit, the question of an agent that has crashed could stay open forever.
const MaxStandaloneWait = 24 * time.Hour

// AskStandalone stores a question that belongs to no task, and returns its id.
func (e *Engine) AskStandalone(ctx context.Context, a StandaloneQuestion) (id string, err error) {
	if err := a.check(); err != nil {
		return "", err
	}
	err = e.write(ctx, a.Asker, func(tx *transaction) error {
		id, err = tx.questions.askStandalone(a)
		return err
	})
	return id, err
}

// QuestionError says why a question is not valid.
type QuestionError struct{ Why string }

func (e *QuestionError) Error() string { return "ask: " + e.Why }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *QuestionError) Invalid() bool { return true }

func (a StandaloneQuestion) check() error {
	switch {
	case a.From == "":
		return &QuestionError{"the name of the asking agent is missing"}
	case a.Text == "":
		return &QuestionError{"there is no question"}
	case a.Within <= 0 || a.Within > MaxStandaloneWait:
		return &QuestionError{fmt.Sprintf("the user has %s to answer, which must be more than nothing and %s at most", a.Within, MaxStandaloneWait)}
	}
	return nil
}

func (qs *questions) askStandalone(a StandaloneQuestion) (string, error) {
	options, err := json.Marshal(a.Options)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	id := qs.opts.NewID()
	if a.Ref != "" {
		id = fmt.Sprintf("aside-%x", sha256.Sum256([]byte(a.From+"\x00"+a.Ref)))[:22]
		if _, err := qs.Question(id); !errors.Is(err, store.ErrNotFound) {
			return id, err
		}
	}
	q := store.Question{ID: id, Task: a.From, Text: a.Text, Options: options, Asker: a.Asker, Asked: qs.now, Expires: qs.now.Add(a.Within)}
	attempt, err := qs.Attempt(a.Attempt)
	waits := err == nil && attempt.Status == store.Running
	switch {
	case waits:
		q.Attempt = attempt.ID
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	qs.PutQuestion(q)
	if err := qs.appendEvent("question.asked", q, q.Text); err != nil || !waits {
		return q.ID, err
	}
	return q.ID, qs.startWait(attempt)
}

// Withdraw closes a question that belongs to no task, because the agent that asked it no longer
// waits for the answer. It does nothing if the question is already closed. It returns a
// [*ConflictError] if the question belongs to a task.
func (e *Engine) Withdraw(ctx context.Context, question, why string) error {
	return e.write(ctx, "", func(tx *transaction) error {
		q, err := tx.Question(question)
		if err != nil {
			return asNotFound(err, "question", question)
		}
		if !q.Standalone() {
			return &ConflictError{"question " + question, "belongs to task " + q.Task + ", which waits for it"}
		}
		if q.Closed {
			return nil
		}
		return tx.questions.close(q, why)
	})
}

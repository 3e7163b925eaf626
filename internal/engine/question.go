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

// Ask is an agent's question to the user.
type Ask struct {
	Attempt string
	Token   int64
	Ref     string // the agent's own id of the question; repeating it does not create a second question
	Text    string
	Options []string
	Within  time.Duration // how long to wait for an answer; forever if zero
	Default string        // the answer after that time; if empty, the request is denied
}

// Ask records a question and returns its id.
func (e *Engine) Ask(ctx context.Context, a Ask) (id string, err error) {
	err = e.write(ctx, "", store.Need{Attempts: []string{a.Attempt}}, func(c *change) error {
		id, err = c.ask(a)
		return err
	})
	return id, err
}

func (c *change) ask(a Ask) (string, error) {
	attempt, err := c.owned(a.Attempt, a.Token)
	if err != nil {
		return "", err
	}
	options, err := json.Marshal(a.Options)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	id := c.engine.opts.NewID()
	if a.Ref != "" {
		id = questionID(attempt.ID, a.Ref)
		known, err := c.Question(id)
		switch {
		case err == nil && !known.Closed:
			return id, c.wait(attempt)
		case !errors.Is(err, store.ErrNotFound):
			return id, err
		}
	}
	c.who = attempt.Worker
	q := store.Question{
		ID: id, Attempt: attempt.ID, Run: attempt.Run, Task: attempt.Task,
		Text: a.Text, Options: options, Asked: c.now, Default: a.Default,
	}
	if a.Within > 0 {
		q.Expires = c.now.Add(a.Within)
	}
	c.PutQuestion(q)
	if err := c.questionEvent("question.asked", q, q.Text); err != nil {
		return "", err
	}
	return q.ID, c.wait(attempt)
}

// questionID derives a question's id from the agent's own id of it.
func questionID(attempt, ref string) string {
	return fmt.Sprintf("%s-%x", attempt, sha256.Sum256([]byte(ref)))[:len(attempt)+9]
}

// withdraw closes the questions that an attempt's agent no longer asks. References to
// questions that were never asked are ignored.
func (c *change) withdraw(attempt string, refs []string) error {
	for _, ref := range refs {
		q, err := c.Question(questionID(attempt, ref))
		if errors.Is(err, store.ErrNotFound) || err == nil && q.Closed {
			continue
		}
		if err != nil {
			return err
		}
		if err := c.closeQuestion(q, "the agent has withdrawn it"); err != nil {
			return err
		}
	}
	return nil
}

// Answer is a user's answer to a question.
type Answer struct {
	Question string
	Text     string
	Deny     bool // denies the request, with Text as the reason
	Who      string
}

// Answer answers a question. It returns a [*ConflictError] if the question is closed,
// because it was answered or its attempt has ended.
func (e *Engine) Answer(ctx context.Context, a Answer) error {
	return e.write(ctx, a.Who, store.Need{}, func(c *change) error {
		q, err := c.Question(a.Question)
		if err != nil {
			return missing(err, "question", a.Question)
		}
		if q.Closed {
			return &ConflictError{"question " + a.Question, "is closed"}
		}
		return c.answer(q, a.Text, a.Deny)
	})
}

func (c *change) answer(q store.Question, answer string, deny bool) error {
	q.Answer, q.Denied, q.By, q.Answered, q.Closed = answer, deny, c.who, c.now, true
	c.PutQuestion(q)
	return c.questionEvent("question.answered", q, answer)
}

// closeQuestions closes the open questions of an attempt that has ended.
func (c *change) closeQuestions(attempt string) error {
	open, err := c.Questions(attempt)
	if err != nil {
		return err
	}
	for _, q := range open {
		if err := c.closeQuestion(q, "the attempt has ended"); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) closeQuestion(q store.Question, why string) error {
	q.Closed = true
	c.PutQuestion(q)
	return c.questionEvent("question.closed", q, why)
}

func (c *change) questionEvent(kind string, q store.Question, why string) error {
	return c.event(store.Event{Kind: kind, Run: q.Run, Task: q.Task, Attempt: q.Attempt, Why: why}, q)
}

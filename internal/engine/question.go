package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gaffer/internal/store"
)

// Ask is an agent's question to a person.
type Ask struct {
	Attempt string
	Token   int64
	Text    string
	Options []string
	Within  time.Duration // how long to wait for an answer; for ever if zero
	Default string        // the answer after that
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
	c.who = attempt.Worker
	q := store.Question{
		ID: c.engine.opts.NewID(), Attempt: attempt.ID, Run: attempt.Run, Task: attempt.Task,
		Text: a.Text, Options: options, Asked: c.now, Default: a.Default,
	}
	if a.Within > 0 {
		q.Expires = c.now.Add(a.Within)
	}
	c.PutQuestion(q)
	return q.ID, c.questionEvent("question.asked", q, q.Text)
}

// Answer answers a question for the person who. A question that is answered, or
// whose attempt has ended, is a [*ConflictError].
func (e *Engine) Answer(ctx context.Context, question, answer, who string) error {
	return e.write(ctx, who, store.Need{}, func(c *change) error {
		q, err := c.Question(question)
		if err != nil {
			return missing(err, "question", question)
		}
		if q.Closed {
			return &ConflictError{"question " + question, "is closed"}
		}
		return c.answer(q, answer)
	})
}

func (c *change) answer(q store.Question, answer string) error {
	q.Answer, q.By, q.Answered, q.Closed = answer, c.who, c.now, true
	c.PutQuestion(q)
	return c.questionEvent("question.answered", q, answer)
}

// closeQuestions ends the questions of an attempt that nobody waits for.
func (c *change) closeQuestions(attempt string) error {
	open, err := c.Questions(attempt)
	if err != nil {
		return err
	}
	for _, q := range open {
		q.Closed = true
		c.PutQuestion(q)
		if err := c.questionEvent("question.closed", q, "the attempt has ended"); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) questionEvent(kind string, q store.Question, why string) error {
	return c.event(store.Event{Kind: kind, Run: q.Run, Task: q.Task, Attempt: q.Attempt, Why: why}, q)
}

package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/selection"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Ask is an agent's question to the user.
type Ask struct {
	Attempt string
	Token   int64
	// Ref is the id that the agent has given the question. A second question with the same Ref in
	// the same attempt is not stored.
	Ref     string
	Text    string
	Options []string
	Within  time.Duration // how long the question waits for an answer; zero means forever
	Default string        // the answer if the user gives none in time; if it is empty, the request is denied then

	// Tool and Input are the tool call that the agent asks permission for; empty for any other
	// question. Suggestions are rules that would allow this call.
	Tool        string
	Input       json.RawMessage
	Suggestions []string
	// Dir is the absolute path of the agent's work folder. Relative paths in Input and in rules
	// start there. Dir is empty if the folder is unknown.
	Dir string
}

// Ask stores a question and returns its id. If the task's permission rules or its policy decide the
// question, Ask stores it with the answer, and no user is asked. The rules include grants: rules
// that users have made by answering earlier questions.
func (e *Engine) Ask(ctx context.Context, a Ask) (id string, err error) {
	err = e.write(ctx, "", func(tx *transaction) error {
		id, err = tx.questions.ask(a)
		return err
	})
	return id, err
}

// questions stores the questions of agents and the answers, and records how long attempts wait for
// the answers.
type questions struct{ *txContext }

func (qs *questions) ask(a Ask) (string, error) {
	attempt, err := qs.ownedAttempt(a.Attempt, a.Token)
	if err != nil {
		return "", err
	}
	t, err := qs.task(attempt.Key())
	if err != nil {
		return "", err
	}
	if t.Account == plan.PickAgent && len(a.Options) == 0 {
		var input selection.PickInput
		if spec, err := plan.DecodeTask(t.Spec); err == nil && json.Unmarshal([]byte(spec.Prompt), &input) == nil {
			a.Text, a.Options = input.Readable(a.Text)
		}
	}
	options, err := json.Marshal(a.Options)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	id := qs.opts.NewID()
	if a.Ref != "" {
		id = questionID(attempt.ID, a.Ref)
		known, err := qs.Question(id)
		switch {
		case err == nil && !known.Closed:
			return id, qs.startWait(attempt)
		case !errors.Is(err, store.ErrNotFound):
			return id, err
		}
	}
	qs.who = attempt.Worker
	q := store.Question{
		ID: id, Attempt: attempt.ID, Run: attempt.Run, Task: attempt.Task,
		Text: a.Text, Options: options, Asked: qs.now, Default: a.Default,
	}
	setCall(&q, a)
	if decided, err := qs.decide(&q, t); err != nil || decided {
		if err != nil {
			return "", err
		}
		return q.ID, qs.storeAnswer(q)
	}
	if a.Within > 0 {
		q.Expires = qs.now.Add(a.Within)
	}
	qs.PutQuestion(q)
	if err := qs.appendEvent("question.asked", q, q.Text); err != nil {
		return "", err
	}
	return q.ID, qs.startWait(attempt)
}

// questionID returns the id of a question. It is computed from the id of the attempt and from the
// parameter ref, which is the id that the agent has given the question.
func questionID(attempt, ref string) string {
	return fmt.Sprintf("%s-%x", attempt, sha256.Sum256([]byte(ref)))[:len(attempt)+9]
}

// withdraw closes questions to which an attempt's agent no longer wants an answer. The parameter
// refs contains the ids that the agent has given these questions. withdraw ignores unknown ids.
func (qs *questions) withdraw(attempt string, refs []string) error {
	for _, ref := range refs {
		q, err := qs.Question(questionID(attempt, ref))
		if errors.Is(err, store.ErrNotFound) || err == nil && q.Closed {
			continue
		}
		if err != nil {
			return err
		}
		if err := qs.close(q, "the agent has withdrawn it"); err != nil {
			return err
		}
	}
	return nil
}

// Answer is what a user replies to a question or a request for permission.
type Answer struct {
	Question string
	Text     string
	Deny     bool // the request for permission is denied; Text is the reason
	Who      string
	Scope    fleet.GrantScope // which later requests the answer also decides; empty means GrantOnce: none
	Rule     string           // the permission rule that decides these later requests; empty means the first of the question's Suggestions
}

// Answer stores the answer to a question. It returns a [*ConflictError] if the question is closed,
// for example because it was answered before or its attempt has ended.
//
// If a.Scope is wider than GrantOnce, Answer also stores a grant: a permission rule that decides
// later requests. It then answers the other open questions that this rule decides. It returns a
// [*GrantError] or a [*permission.RuleError] if the grant is not valid.
func (e *Engine) Answer(ctx context.Context, a Answer) error {
	return e.write(ctx, a.Who, func(tx *transaction) error {
		q, err := tx.Question(a.Question)
		if err != nil {
			return asNotFound(err, "question", a.Question)
		}
		if q.Closed {
			return &ConflictError{"question " + a.Question, "is closed"}
		}
		return tx.questions.answerOnceOrGrant(q, a)
	})
}

func (qs *questions) answerOnceOrGrant(q store.Question, a Answer) error {
	g, made, err := qs.grant(q, a)
	if err != nil {
		return err
	}
	if made {
		q.Scope, q.Rule = g.Scope, g.Rule
	}
	if err := qs.answer(q, a.Text, a.Deny); err != nil || !made {
		return err
	}
	return qs.answerCovered(g)
}

// answer closes a question with an answer that was not decided by a permission rule. The author of
// the answer is qs.who.
func (qs *questions) answer(q store.Question, answer string, deny bool) error {
	q.Answer, q.Denied, q.By = answer, deny, qs.who
	return qs.storeAnswer(q)
}

// storeAnswer stores a question as closed, and appends an event. The caller must have set q.Answer,
// q.Denied and q.By.
func (qs *questions) storeAnswer(q store.Question) error {
	q.Answered, q.Closed = qs.now, true
	qs.PutQuestion(q)
	return qs.appendEvent("question.answered", q, q.Answer)
}

// closeAll closes the open questions of an attempt that has ended.
func (qs *questions) closeAll(attempt string) error {
	open, err := qs.Questions(attempt)
	if err != nil {
		return err
	}
	for _, q := range open {
		if err := qs.close(q, "the attempt has ended"); err != nil {
			return err
		}
	}
	return nil
}

func (qs *questions) close(q store.Question, why string) error {
	q.Closed = true
	qs.PutQuestion(q)
	return qs.appendEvent("question.closed", q, why)
}

func (qs *questions) appendEvent(kind string, q store.Question, why string) error {
	return qs.event(store.Event{Kind: kind, Run: q.Run, Task: q.Task, Attempt: q.Attempt, Why: why}, q)
}

// answers returns those of the questions with the given ids that are closed.
func (qs *questions) answers(questions []string) (closed []store.Question, err error) {
	for _, id := range questions {
		q, err := qs.Question(id)
		if err != nil {
			return nil, asNotFound(err, "question", id)
		}
		if q.Closed {
			closed = append(closed, q)
		}
	}
	return closed, nil
}

// expireQuestions closes the questions that were not answered in time. A question gets its default
// answer, or is denied if it has none. expireQuestions returns how many questions it has closed.
func (qs *questions) expireQuestions() (int, error) {
	expired, err := qs.ExpiredQuestions(qs.now, sweepAtOnce)
	if err != nil {
		return 0, err
	}
	for _, q := range expired {
		q.Answer, q.Denied, q.By = cmp.Or(q.Default, "no answer in time"), q.Default == "", fleet.AnsweredByDeadline
		if err := qs.storeAnswer(q); err != nil {
			return 0, err
		}
	}
	return len(expired), nil
}

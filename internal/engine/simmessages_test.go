package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// simMessages holds the messages that simulated users have sent to agents.
type simMessages struct {
	sent  []fleet.Message     // messages that were sent; the engine may not have stored all of them
	taken map[string]bool     // ids of the messages that the engine has certainly stored
	inbox map[string][]string // ids of the messages that an agent can receive, by the id of the agent's attempt
}

// hear puts messages into the inbox of an attempt's agent.
func (t *simMessages) hear(attempt string, list []fleet.Message) {
	if t.inbox == nil {
		t.inbox = map[string][]string{}
	}
	for _, m := range list {
		if !slices.Contains(t.inbox[attempt], m.ID) {
			t.inbox[attempt] = append(t.inbox[attempt], m.ID)
		}
	}
}

// delivered returns the ids of messages that a worker reports as received by an attempt's agent:
// all ids of the agent's inbox, or a random part of them. It may return an id that was reported
// before.
func (w *world) delivered(attempt string, all bool) (ids []string) {
	for _, id := range w.talk.inbox[attempt] {
		if all || w.chance(3) {
			ids = append(ids, id)
		}
	}
	return ids
}

// answers returns an agent's last message. At random it answers two review comments or none.
func (w *world) answers() string {
	if w.chance(3) {
		return "nothing to say"
	}
	return "c1: fixed\nc2: not fixed: no"
}

// speak simulates a user who sends messages to agents and reviews their work.
func (w *world) speak() error {
	if len(w.runs) == 0 {
		return nil
	}
	ctx := context.Background()
	key := store.TaskKey{Run: w.runs[w.rng.IntN(len(w.runs))], Task: fmt.Sprint("t", w.rng.IntN(3))}
	switch w.rng.IntN(8) {
	case 0:
		err := w.engine().Interrupt(ctx, key, "sam")
		w.note("interrupt %v: %v", key, err)
		return w.orMissing(err)
	case 1, 2:
		_, err := w.engine().ActOnReview(ctx, key, "sam", fleet.ReviewAction{Action: "comment", Comment: fleet.Comment{Text: "why?"}})
		if err == nil {
			err = w.engine().SendBack(ctx, key, "sam", "")
		}
		w.note("send %v back: %v", key, err)
		return w.orMissing(err)
	case 3:
		return w.withdraw()
	}
	m := fleet.Message{ID: w.newID(), Run: key.Run, Task: key.Task, Text: "hello"}
	if len(w.talk.sent) > 0 && w.chance(4) {
		m = w.talk.sent[w.rng.IntN(len(w.talk.sent))] // repeat an earlier message, as a client does that has not received the answer
	}
	w.talk.sent = append(w.talk.sent, m)
	_, err := w.engine().Send(ctx, m)
	w.note("send %s to %s/%s: %v", m.ID, m.Run, m.Task, err)
	if err == nil {
		if w.talk.taken == nil {
			w.talk.taken = map[string]bool{}
		}
		w.talk.taken[m.ID] = true
	}
	return w.orMissing(err)
}

func (w *world) withdraw() error {
	if len(w.talk.sent) == 0 {
		return nil
	}
	m := w.talk.sent[w.rng.IntN(len(w.talk.sent))]
	err := w.engine().WithdrawMessage(context.Background(), m.ID, "sam")
	w.note("withdraw %s: %v", m.ID, err)
	return w.orMissing(err)
}

// check verifies that no message to the run's tasks is lost, and that the states of its reviews
// agree with the statuses of its tasks.
func (t *simMessages) check(r store.Reader, run store.Run) error {
	for _, m := range t.sent {
		if m.Run != run.ID || !t.taken[m.ID] {
			continue
		}
		if _, err := r.Item(store.ItemKey{Kind: engine.MessageKind, ID: m.ID}); err != nil {
			return fmt.Errorf("message %s was accepted: %w", m.ID, err)
		}
	}
	tasks, err := r.Tasks(run.ID)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if err := checkTalk(r, run, task); err != nil {
			return fmt.Errorf("task %s, which is %s: %w", task.Task, task.Status, err)
		}
	}
	return nil
}

func checkTalk(r store.Reader, run store.Run, t store.Task) error {
	items, err := r.Items(engine.MessageKind, engine.TaskItemID(t.TaskKey), math.MinInt64, math.MaxInt32)
	if err != nil {
		return err
	}
	waiting, comments := "", false
	for _, item := range items {
		var m fleet.Message
		if err := json.Unmarshal(item.Data, &m); err != nil {
			return err
		}
		switch {
		case m.Waiting():
			waiting, comments = m.ID, comments || m.Round > 0
		case !m.Withdrawn:
			a, err := r.Attempt(m.Attempt)
			if err != nil || a.Key() != t.TaskKey {
				return fmt.Errorf("message %s was delivered to attempt %s: %w", m.ID, m.Attempt, err)
			}
		}
	}
	review := fleet.Review{State: fleet.ReviewOpen}
	if item, err := r.Item(store.ItemKey{Kind: engine.ReviewKind, ID: engine.TaskItemID(t.TaskKey)}); err == nil {
		if err := json.Unmarshal(item.Data, &review); err != nil {
			return err
		}
	}
	switch {
	case waiting == "" && t.Status == store.Queued && t.EndedAs != "":
		return fmt.Errorf("it is queued for a message, and none waits")
	case waiting != "" && !t.HasMessages:
		return fmt.Errorf("message %s waits, and the task does not know it", waiting)
	case waiting != "" && t.Status == store.Complete && run.Budget.Tokens == 0 && !t.Spent.Reaches(t.Reserve):
		return fmt.Errorf("it ended although message %s waits", waiting)
	case comments && (review.State != fleet.ReviewSentBack || !t.SentBack):
		return fmt.Errorf("its comments wait, and its review is %s", review.State)
	case review.State == fleet.ReviewSentBack && t.Status.Final() && !comments:
		return fmt.Errorf("its review is sent back, and no agent works on it")
	}
	if waiting == "" || t.Status != store.Running {
		return nil
	}
	a, err := r.Attempt(t.RunningAttempt)
	if err == nil && !a.HasMessages {
		err = fmt.Errorf("message %s waits, and attempt %s does not know it", waiting, a.ID)
	}
	return err
}

// deliveredOnce checks that an event of a delivered message is the first for that message, and that
// the attempt to which it was delivered is running.
func deliveredOnce(delivered map[string]string, e store.Event, to store.Attempt) error {
	var row engine.MessageRow
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return err
	}
	if before, twice := delivered[row.ID]; twice || to.Status != store.Running {
		return fmt.Errorf("event %d: message %s is delivered to %s attempt %s, and before to %q", e.Seq, row.ID, to.Status, to.ID, before)
	}
	delivered[row.ID] = to.ID
	return nil
}

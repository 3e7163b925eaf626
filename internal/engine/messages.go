package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// MessageKind is the Kind of the [store.Item] rows that hold messages of users to agents. The
// Parent of such a row is the [TaskItemID] of the task.
const MessageKind = "message"

// TaskItemID returns the id RUN/TASK. It is the Parent of the [store.Item] rows that hold a task's
// messages. It is also the ID of the row that holds the task's review, and of the row that holds
// its [ItemReport].
func TaskItemID(key store.TaskKey) string { return key.Run + "/" + key.Task }

// messages reads and writes the messages of users to agents.
type messages struct{ *txContext }

// message is a user's message to an agent, as it is stored.
type message struct {
	fleet.Message
	TriesWhenSent int   `json:"tries"` // value of Task.Tries when the message was sent
	seq           int64 // Seq of the store item; messages of a task are ordered by it
}

// Messages returns all messages that users have sent to a task's agent, oldest first.
func (e *Engine) Messages(ctx context.Context, key store.TaskKey) (list []fleet.Message, err error) {
	err = e.store.Read(ctx, func(r store.Reader) error {
		if _, err := r.Task(key); err != nil {
			return asNotFound(err, "task", key.Task)
		}
		all, err := taskMessages(r, key)
		list = make([]fleet.Message, len(all))
		for i, m := range all {
			list[i] = m.Message
		}
		return err
	})
	return list, err
}

// ItemLister lists store items, in a transaction or in a read-only snapshot.
type ItemLister interface {
	Items(kind, parent string, after int64, limit int) ([]store.Item, error)
}

func taskMessages(r ItemLister, key store.TaskKey) ([]message, error) {
	items, err := r.Items(MessageKind, TaskItemID(key), math.MinInt64, math.MaxInt32)
	list := make([]message, len(items))
	for i, item := range items {
		list[i].seq = item.Seq
		if err := json.Unmarshal(item.Data, &list[i]); err != nil {
			return nil, fmt.Errorf("message %s: %w", item.ID, err)
		}
	}
	return list, err
}

// ofTask returns all messages that users have sent to a task's agent, oldest first.
func (ms *messages) ofTask(key store.TaskKey) ([]message, error) { return taskMessages(ms.Tx, key) }

// waiting returns the messages that the task's agent has not received yet, oldest first.
func (ms *messages) waiting(key store.TaskKey) (list []fleet.Message, err error) {
	all, err := ms.ofTask(key)
	for _, m := range all {
		if m.Waiting() {
			list = append(list, m.Message)
		}
	}
	return list, err
}

// get returns the message with the given id. The error is [store.ErrNotFound] if there is none.
func (ms *messages) get(id string) (m message, err error) {
	item, err := ms.Item(store.ItemKey{Kind: MessageKind, ID: id})
	if err != nil {
		return m, err
	}
	m.seq = item.Seq
	if err := json.Unmarshal(item.Data, &m); err != nil {
		return m, fmt.Errorf("message %s: %w", id, err)
	}
	return m, nil
}

// put stores a message and appends an event of the given kind. The event contains only the
// message's id and the beginning of its text.
func (ms *messages) put(m message, kind, attempt string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("message %s: %w", m.ID, err)
	}
	ms.PutItem(store.Item{
		ItemKey: store.ItemKey{Kind: MessageKind, ID: m.ID}, Parent: TaskItemID(store.TaskKey{Run: m.Run, Task: m.Task}),
		Seq: m.seq, Data: data, Made: m.Sent,
	})
	why, _, _ := strings.Cut(m.Text, "\n")
	if runes := []rune(why); len(runes) > shortText {
		why = string(runes[:shortText]) + "…"
	}
	return ms.event(store.Event{Kind: kind, Run: m.Run, Task: m.Task, Attempt: attempt, Why: why}, MessageRow{m.ID})
}

// shortText is the maximum number of characters of a message's text in an event.
const shortText = 100

// MessageRow is what [store.Event.Row] contains, as JSON, in events about a message.
type MessageRow struct {
	ID string `json:"id"`
}

// deliver records that the agent of attempt a has received the messages with these ids. It ignores
// messages of other tasks, and messages that are already recorded as delivered. A message that the
// user has withdrawn is still recorded as delivered if the agent has received it.
func (ms *messages) deliver(a store.Attempt, ids []string) error {
	for _, id := range ids {
		m, err := ms.get(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if m.Run != a.Run || m.Task != a.Task || !m.Delivered.IsZero() {
			continue
		}
		m.Attempt, m.Delivered, m.Withdrawn = a.ID, ms.now, false
		if err := ms.put(m, "message.delivered", a.ID); err != nil {
			return err
		}
	}
	return nil
}

// maxUndelivered is how many attempts in a row may fail before the agent has received a message.
// After that, the task is not queued again for the message. The message waits until the task is
// queued again for another reason, for example because the user retries it.
const maxUndelivered = 3

// needsAttempt reports whether a task must be queued again because a message waits for its agent.
// class says how the current attempt at the task has ended. The result is true if the newest
// waiting message was sent after that attempt had started. It is also true if the attempt has
// failed, and fewer than maxUndelivered attempts have started since the message was sent.
func (ms *messages) needsAttempt(t store.Task, class failure.Class) (bool, error) {
	all, err := ms.ofTask(t.TaskKey)
	// tried is how many attempts have started since the newest waiting message was sent. Without a
	// waiting message, it keeps the value maxUndelivered, and the result is false.
	tried := maxUndelivered
	for _, m := range all {
		if m.Waiting() {
			tried = t.Tries - m.TriesWhenSent
		}
	}
	failed := class != failure.None && class != failure.Interrupted
	return tried == 0 || failed && tried < maxUndelivered, err
}

// MaxMessage is the maximum length of a message's text, in bytes.
const MaxMessage = 256 << 10

// maxWaiting is how many undelivered messages one agent may have.
const maxWaiting = 100

// MessageError says why a user's message is not valid.
type MessageError struct{ Why string }

func (e *MessageError) Error() string { return "message: " + e.Why }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *MessageError) Invalid() bool { return true }

func checkMessage(m fleet.Message) error {
	switch {
	case strings.TrimSpace(m.Text) == "":
		return &MessageError{"has no text"}
	case len(m.Text) > MaxMessage:
		return &MessageError{fmt.Sprintf("has %d bytes, and may have %d", len(m.Text), MaxMessage)}
	case !utf8.ValidString(m.Text) || strings.IndexByte(m.Text, 0) >= 0:
		return &MessageError{"is not text"}
	case len(m.ID) > 200 || !utf8.ValidString(m.ID) || strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }):
		return &MessageError{fmt.Sprintf("id %.60q: want at most 200 characters, no spaces and no slashes", m.ID)}
	}
	return nil
}

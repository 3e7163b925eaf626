package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// taskService answers the requests about tasks and their inputs.
type taskService struct {
	db     *database
	random io.Reader // random bytes for the secrets of tasks that ask an agent to start a session
	specs  specs
}

// details are the fields of the protocol's task that are stored as JSON in the field Step of the
// task's specification.
type details struct {
	Channel  string    `json:"channel"`
	Chain    string    `json:"chain,omitempty"`
	Sequence int       `json:"sequence,omitempty"`
	Type     string    `json:"type,omitempty"`
	Mode     string    `json:"mode,omitempty"`
	Priority int       `json:"priority,omitempty"`
	Session  string    `json:"session,omitempty"` // secret of a task that asks for a new session; else empty
	Created  time.Time `json:"created"`
}

// spec contains the fields of a task's stored specification that this service reads and writes.
type spec struct {
	Name   string
	Prompt string
	Step   details
}

// maxLostAttempts is the maximum number of times that a task is queued again because its agent
// stopped sending heartbeats.
const maxLostAttempts = 1000

// wireID returns the protocol's id of a task, for example "ch-1.t7".
func wireID(key store.TaskKey) string { return key.Run + "." + key.Task }

// taskKey parses the protocol's id of a task. It returns a not-found error if id cannot be the id
// of a task of a channel or chain.
func taskKey(id string) (store.TaskKey, error) {
	run, task, found := strings.Cut(id, ".")
	if !found || !OwnsRun(run) || checkID("task", id) != nil {
		return store.TaskKey{}, NotFound(store.ErrNotFound, "task", fmt.Sprintf("%.40q", id))
	}
	return store.TaskKey{Run: run, Task: task}, nil
}

// OwnsRun reports whether a run belongs to a channel or a chain. Other runs were submitted
// by users.
func OwnsRun(run string) bool {
	return strings.HasPrefix(run, channelRun) || strings.HasPrefix(run, chainRun)
}

// statuses maps the engine's statuses of tasks to those of the protocol.
var statuses = map[store.Status]coordinator.TaskStatus{
	store.Queued: coordinator.Queued, store.Running: coordinator.InProgress, store.Complete: coordinator.Done,
	store.Failed: coordinator.Failed, store.Cancelled: coordinator.Failed,
}

// wireTask converts a task of the engine to a task of the protocol. a is the task's running
// attempt, or its last ended attempt if none is running. It is nil if the task had no attempt.
func wireTask(t store.Task, a *store.Attempt) (coordinator.Task, error) {
	s, err := specOf(t)
	if err != nil {
		return coordinator.Task{}, err
	}
	return wireWith(s, t, a), nil
}

func wireWith(s spec, t store.Task, a *store.Attempt) coordinator.Task {
	w := coordinator.Task{
		ID: wireID(t.TaskKey), ChainID: s.Step.Chain, Sequence: s.Step.Sequence, ChannelID: s.Step.Channel, Title: s.Name,
		Description: s.Prompt, Type: s.Step.Type, Status: statuses[t.Status], Priority: s.Step.Priority, ExecutionMode: s.Step.Mode, SessionToken: s.Step.Session,
		CreatedAt: inUTC(s.Step.Created), UpdatedAt: inUTC(s.Step.Created),
	}
	if a == nil {
		return w
	}
	started, ended := inUTC(a.Started), inUTC(a.Ended)
	switch {
	case t.Status == store.Queued: // the task was queued again after the attempt, so it has no agent
		w.UpdatedAt = ended
	case t.Status.Final():
		w.AssignedAgentID, w.ClaimedAt, w.DoneAt, w.UpdatedAt = a.Worker, &started, &ended, ended
	default:
		w.AssignedAgentID, w.ClaimedAt, w.UpdatedAt = a.Worker, &started, started
	}
	return w
}

// taskAndAttempt is a task with its running attempt, or with its last ended attempt if none is
// running. attempt is nil if the task had no attempt. Transactions return this type. The caller
// converts it to a task of the protocol after the transaction, because a conversion inside the
// transaction would delay other writers.
type taskAndAttempt struct {
	task    store.Task
	attempt *store.Attempt
}

func (t taskAndAttempt) wire() (coordinator.Task, error) { return wireTask(t.task, t.attempt) }

// wire converts a task of the engine to a task of the protocol. It caches the task's decoded
// specification, because a task is usually converted twice: when an agent claims it, and when the
// agent reports that it has ended.
func (d *taskService) wire(t taskAndAttempt) (coordinator.Task, error) {
	s, err := d.specs.of(t.task)
	if err != nil {
		return coordinator.Task{}, err
	}
	return wireWith(s, t.task, t.attempt), nil
}

func taskWithAttempt(r rows, key store.TaskKey) (t taskAndAttempt, err error) {
	if t.task, err = r.Task(key); err != nil {
		return t, NotFound(err, "task", wireID(key))
	}
	t.attempt, err = lastAttempt(r, t.task)
	return t, err
}

// taskOf reads a task from the store and converts it to a task of the protocol.
func taskOf(r rows, key store.TaskKey) (coordinator.Task, error) {
	t, err := taskWithAttempt(r, key)
	if err != nil {
		return coordinator.Task{}, err
	}
	return t.wire()
}

// Task implements [server.Protocol].
func (d *taskService) Task(ctx context.Context, id string) (task coordinator.Task, err error) {
	key, err := taskKey(id)
	if err != nil {
		return task, err
	}
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		task, err = taskOf(r, key)
		return err
	})
	return task, err
}

// AddTask implements [server.Protocol].
func (d *taskService) AddTask(ctx context.Context, by credential.Identity, t coordinator.NewTask) (task coordinator.Task, err error) {
	if err := cmp.Or(maySubmit(by), checkTask(t)); err != nil {
		return task, err
	}
	run := channelRun + t.ChannelID
	if t.ChainID != "" {
		run = chainRun + t.ChainID
	}
	var added taskAndAttempt
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		channel, err := channelFor(s, t)
		if err != nil {
			return err
		}
		add := t
		if add.ChainID != "" {
			if add.Sequence, err = sequence(s, add); err != nil {
				return err
			}
		}
		added, err = addTask(s, run, channel, add, "")
		return err
	})
	if err != nil {
		return task, err
	}
	return added.wire()
}

func checkTask(t coordinator.NewTask) error {
	var c check
	c.name("title", t.Title, maxTitle)
	c.text("description", t.Description, maxText)
	c.idIfAny("channel_id", t.ChannelID)
	c.idIfAny("chain_id", t.ChainID)
	c.line("type", t.Type, maxName)
	c.line("execution_mode", t.ExecutionMode, maxName)
	c.number("priority", t.Priority, -maxPriority, maxPriority)
	c.number("sequence", t.Sequence, 0, maxPriority)
	if t.ChannelID == "" && t.ChainID == "" {
		c.fail("channel_id: is missing")
	}
	return c.err
}

// channelFor returns the id of the channel of a new task. It is the channel that the request names
// or, if the request names none, the channel of the task's chain. channelFor returns an error if
// the request and the chain name different channels, if both name none, or if the channel does not
// exist.
func channelFor(s *engine.Tx, t coordinator.NewTask) (string, error) {
	id := t.ChannelID
	if t.ChainID != "" {
		chain, _, err := chainOf(s, t.ChainID)
		if err != nil {
			return "", err
		}
		if chain.ChannelID != "" && id != "" && id != chain.ChannelID {
			return "", Invalid("channel_id: the chain is of channel %s", chain.ChannelID)
		}
		if id = cmp.Or(id, chain.ChannelID); id == "" {
			return "", Invalid("channel_id: is missing, and the chain has none")
		}
	}
	_, err := s.Item(channelKey(id))
	return id, NotFound(err, "channel", id)
}

func addTask(s *engine.Tx, run, channel string, t coordinator.NewTask, session string) (task taskAndAttempt, err error) {
	more := details{
		Channel: channel, Chain: t.ChainID, Sequence: t.Sequence, Type: t.Type, Mode: t.ExecutionMode, Priority: t.Priority,
		Session: session, Created: s.Now().UTC(),
	}
	words := plan.Task{
		ID: s.NewID(), Name: t.Title, Prompt: t.Description, Labels: []string{channelLabel(channel)}, Priority: t.Priority, Limits: plan.Limits{Retries: maxLostAttempts},
	}
	if t.ChainID != "" {
		words.Priority = -t.Sequence
	}
	if words.Step, err = json.Marshal(more); err != nil {
		return task, fmt.Errorf("task: %w", err)
	}
	if err := s.Extend(engine.Extension{Run: run, Tasks: []plan.Task{words}}); err != nil {
		return task, err
	}
	return taskWithAttempt(s, store.TaskKey{Run: run, Task: words.ID})
}

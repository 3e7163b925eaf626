package worker

import (
	"context"
	"fmt"
	"slices"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
)

// owner passes the events of an attempt to its worker.
type owner struct {
	*heldAttempt
	ctx context.Context
}

// outputSource is the source of a worker's knowledge about its agents: their output.
const outputSource = "output"

// Doing implements [runner.Owner].
func (o owner) Doing(a runner.Activity) {
	at := o.worker.opts.Now()
	if a.Doubt != o.doubted {
		if o.doubted = a.Doubt; a.Doubt != "" {
			o.worker.opts.Notice(fmt.Sprintf("task %s waits: %s", o.Task.Task, a.Doubt))
		}
	}
	o.worker.tell(o.ctx, func() {
		o.now = a.Progress
		o.now.Source, o.now.Said, o.now.Log = outputSource, at, o.worker.opts.Workspace.Log(o.Task)
		o.worker.beats.dirty = true
	})
}

// Asked implements [runner.Owner].
func (o owner) Asked(q agent.Question) {
	ask := engine.Ask{
		Attempt: o.Attempt.ID, Token: o.Attempt.Token, Ref: q.ID, Text: q.Text, Options: q.Options,
	}
	ask.Within, ask.Default = o.patience()
	o.worker.running.Go(func() { // the attempt must not wait for the engine
		var id string
		o.retryUntilAnswered(o.ctx, "ask "+o.Task.Task, func() (err error) {
			id, err = o.worker.opts.Engine.Ask(o.ctx, ask)
			return err
		})
		if id == "" {
			return
		}
		o.worker.tell(o.ctx, func() {
			if !slices.Contains(o.dropped, q.ID) { // it may have been withdrawn in the meantime
				o.questions[id] = q.ID
			}
			o.worker.beats.dirty = true
		})
	})
}

// Closed implements [runner.Owner].
func (o owner) Closed(question string) {
	o.worker.tell(o.ctx, func() {
		for id, asked := range o.questions {
			if asked == question {
				delete(o.questions, id)
			}
		}
		o.dropped = append(o.dropped, question)
		o.dropped = o.dropped[max(len(o.dropped)-mostDropped, 0):]
		o.worker.beats.dirty = true
	})
}

// Took implements [runner.Owner].
func (o owner) Took(message string) {
	o.worker.tell(o.ctx, func() {
		o.delivered = append(o.delivered, message)
		o.worker.beats.dirty = true
	})
}

// mostDropped is the maximum number of withdrawn questions that a heartbeat lists.
// Every heartbeat lists them again, because a question may be in flight while it is
// withdrawn.
const mostDropped = 50

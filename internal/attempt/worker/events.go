package worker

import (
	"context"
	"fmt"
	"slices"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
)

// events receives the events of an attempt from package runner, and passes them to the worker. It
// implements [runner.Owner].
type events struct {
	*heldAttempt
	ctx context.Context
}

// outputSource is a value of the field Source in the worker's reports to the engine. It means that
// the worker knows from the agents' output what the agents do.
const outputSource = "output"

// Doing implements [runner.Owner]: it stores the agent's activity for the next heartbeat. It also
// notifies the user if gaffer cannot tell whether the attempt has ended.
func (o events) Doing(a runner.Activity) {
	at := o.worker.opts.Now()
	if a.Unproven != o.lastUnproven {
		if o.lastUnproven = a.Unproven; a.Unproven != "" {
			o.worker.opts.Notice(fmt.Sprintf("task %s waits: %s", o.Task.Task, a.Unproven))
		}
	}
	o.worker.runInLoop(o.ctx, func() {
		o.now = a.Progress
		o.now.Source, o.now.Said, o.now.Log = outputSource, at, o.worker.opts.Workspace.Log(o.Task)
		o.worker.beatTimer.dirty = true
	})
}

// Asked implements [runner.Owner]: it sends the agent's question to the engine. work is the
// agent's work folder.
func (o events) Asked(q agent.Question, work string) {
	ask := engine.Ask{
		Attempt: o.Attempt.ID, Token: o.Attempt.Token, Ref: q.ID, Text: q.Text, Options: q.Options,
		Tool: q.Tool, Input: q.Input, Suggestions: q.Suggestions, Dir: work,
	}
	ask.Within, ask.Default = o.answerTimeout()
	o.worker.running.Go(func() { // in a goroutine, because the attempt must not wait for the engine
		var id string
		o.retryUntilAnswered(o.ctx, "ask "+o.Task.Task, func() (err error) {
			id, err = o.worker.opts.Engine.Ask(o.ctx, ask)
			return err
		})
		if id == "" {
			return
		}
		o.worker.runInLoop(o.ctx, func() {
			if !slices.Contains(o.dropped, q.ID) { // skip a question that the agent has withdrawn in the meantime
				o.questions[id] = q.ID
			}
			o.worker.beatTimer.dirty = true
		})
	})
}

// Closed implements [runner.Owner]: it records that the agent has withdrawn a question. The
// parameter is the agent's id of the question.
func (o events) Closed(question string) {
	o.worker.runInLoop(o.ctx, func() {
		for id, asked := range o.questions {
			if asked == question {
				delete(o.questions, id)
			}
		}
		o.dropped = append(o.dropped, question)
		o.dropped = o.dropped[max(len(o.dropped)-maxDropped, 0):]
		o.worker.beatTimer.dirty = true
	})
}

// Delivered implements [runner.Owner]: it records that the agent has received a message of the
// user. The parameter is the id of the message.
func (o events) Delivered(message string) {
	o.worker.runInLoop(o.ctx, func() {
		o.delivered = append(o.delivered, message)
		o.worker.beatTimer.dirty = true
	})
}

// maxDropped is the maximum number of withdrawn questions that a heartbeat lists. The same
// questions are listed again in every heartbeat, because a heartbeat may reach the engine before
// the question itself does. The engine then learns only from a later heartbeat that the question
// was withdrawn.
const maxDropped = 50

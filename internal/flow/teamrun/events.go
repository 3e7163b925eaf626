package teamrun

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
	"gaffer/team"
)

// catchUp applies the events of the run that were stored since the last call.
func (c *Conductor) catchUp(ctx context.Context) error {
	for {
		var events []store.Event
		err := c.opts.Store.Read(ctx, func(r store.Reader) (err error) {
			events, err = r.Events(c.seq, 1000)
			return err
		})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if e.Run == c.opts.Run.ID {
				if err := c.apply(e); err != nil {
					return fmt.Errorf("event %d (%s %s): %w", e.Seq, e.Kind, e.Task, err)
				}
			}
			c.seq = e.Seq
		}
	}
}

// apply applies an event of the run to the team's session. It ignores events that do not affect the
// session.
func (c *Conductor) apply(e store.Event) error {
	to := store.Status(e.To)
	switch {
	case e.Task == "" && to == store.Running && e.From != "":
		c.session.Resume(e.At)
	case e.Task == "" && to == store.Cancelled:
		c.session.Cancel(e.At, e.Why)
	case e.Kind == "attempt.stopping":
		c.stopReasons[e.Task] = e.Why
	case e.Task == "" || e.To == "":
	case to == store.Queued && e.From == "":
		return c.stepQueued(e)
	case to.Final():
		return c.stepEnded(e)
	}
	return nil
}

func (c *Conductor) stepQueued(e store.Event) error {
	var row store.Task
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return err
	}
	spec, err := plan.DecodeTask(row.Spec)
	if err != nil {
		return err
	}
	var step teamstate.Step
	if err := json.Unmarshal(spec.Step, &step); err != nil {
		return fmt.Errorf("its step: %w", err)
	}
	return c.session.Begin(step, e.At)
}

func (c *Conductor) stepEnded(e store.Event) error {
	ending, err := endingOf(e)
	if err != nil {
		return err
	}
	if why := c.stopReasons[e.Task]; why != "" && ending.Class == failure.Cancelled {
		// If the task was stopped on request, give the reason of the request instead of the reason
		// in the final event.
		ending.Reason = why
	}
	delete(c.stopReasons, e.Task)
	step, _ := c.session.Step(e.Task)
	switch {
	case step.Group != "":
		c.stale[step.Group] = step.Role == team.Developer
	case step.Role == team.PM:
		c.ended = append(c.ended, step.ID)
	}
	// A step without a role is a merge, which gaffer does itself. The answer of such a step is the
	// last line of its output.
	if step.Role == "" {
		ending.Answer = lastLine(ending.Answer)
	}
	return c.session.End(e.Task, ending)
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// endingOf returns how a task has ended. e is the event that set the task's final status.
func endingOf(e store.Event) (teamstate.Ending, error) {
	var row store.Task
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return teamstate.Ending{}, err
	}
	ending := teamstate.Ending{At: e.At, Class: failure.Class(row.Outcome), Reason: e.Why}
	if store.Status(e.To) == store.Cancelled {
		ending.Class = failure.Cancelled
	}
	if e.AttemptRow == nil {
		return ending, nil
	}
	var a store.Attempt
	err := json.Unmarshal(e.AttemptRow, &a)
	ending.Answer = a.Answer
	return ending, err
}

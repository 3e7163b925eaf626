package hook

import (
	"context"
	"fmt"

	"gaffer/workflow"
)

// addLoopEvent adds an event to the project's activity feed. The event says that the agent may be
// in a loop. text describes the action that the agent repeats.
func (c *call) addLoopEvent(ctx context.Context, text string) error {
	return c.addEvent(ctx, func(chunk string) workflow.Draft {
		fields := []workflow.Field{
			{Name: "summary", Value: c.Session.Worker() + " may be in a loop: " + text},
			{Name: "reason", Value: "doom-loop"},
		}
		if chunk != "" {
			fields = append(fields, workflow.Field{Name: "chunk", Value: chunk})
		}
		return workflow.Draft{Kind: workflow.EscalationEmitted, Fields: fields}
	})
}

// addContextEvent adds an event to the project's activity feed. The event says that the agent
// compacts its context, and why.
func (c *call) addContextEvent(ctx context.Context, trigger string) error {
	return c.addEvent(ctx, func(chunk string) workflow.Draft {
		how := "because it is full"
		if trigger == "manual" {
			how = "because the user asked for it"
		}
		d := workflow.Compacted(chunk, fmt.Sprintf("%s summarizes its context %s; the build's state is kept", c.Session.Worker(), how))
		if chunk == "" {
			d.Fields = d.Fields[1:]
		}
		return d
	})
}

// addEvent adds the event that the function draft returns to the project's activity feed, if the
// project has a workflow. It passes draft the result of [activeChunk].
func (c *call) addEvent(ctx context.Context, draft func(chunk string) workflow.Draft) error {
	at, err := locate(c.Env, c.Raw)
	if err != nil || at.folder == "" {
		return err
	}
	store := at.store(c.Env)
	_, err = store.Emit(ctx, draft(activeChunk(store)))
	return err
}

// activeChunk returns the name of the chunk (a part of the workflow's build) that is being built.
// It returns "" if no chunk, or more than one, is being built, or if the workflow's state cannot be
// read.
func activeChunk(store *workflow.Store) string {
	s, err := store.State()
	if err != nil || s.BuildRun == nil {
		return ""
	}
	name := ""
	for _, chunk := range s.BuildRun.Chunks {
		if chunk.Status != workflow.Active && chunk.Status != workflow.Retrying {
			continue
		}
		if name != "" {
			return ""
		}
		name = chunk.Name
	}
	return name
}

package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

type beginArgs struct {
	Step      string `json:"step" jsonschema:"the step"`
	IfMissing string `json:"if_missing,omitempty" jsonschema:"the user's choice if an earlier step is missing: run begins the missing step instead, skip continues without it, abort ends the command"`
}

type beginResult struct {
	Outcome string `json:"outcome" jsonschema:"begun; missing if an earlier step was begun instead; aborted if the command was ended"`
	Step    string `json:"step,omitempty" jsonschema:"the current step"`
}

// missingStepChoices maps each value of the argument if_missing to a constant of package workflow.
// The argument is the user's choice of what to do if an earlier step of the workflow has not been
// done.
func missingStepChoices() map[string]int {
	return map[string]int{"run": workflow.RunMissing, "skip": workflow.Skip, "abort": workflow.Abort}
}

func (s *Server) stepBegin() tool {
	return define(s, toolDoc{
		name: "step_begin", title: "Begin a step", need: rightSteps, repeatable: true,
		text:    "Say that you begin a step of the workflow's command. Use it before you do the work of a step. If an earlier step is missing, the call fails and lists the choices. The user must choose (person_ask), so set if_missing only after that.",
		example: `{"step": "state-owner-scan"}`,
		shape: func(p map[string]*jsonschema.Schema) {
			p["step"].Enum, p["if_missing"].Enum = oneOf(workflow.Steps()...), oneOf("run", "skip", "abort")
		},
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a beginArgs) (r beginResult, text string, err error) {
		err = s.opts.Workflow.Update(ctx, func(root *jsontree.Node) error {
			return workflow.BeginStep(root, workflow.Step(a.Step), false)
		})
		missing, ok := errors.AsType[*workflow.PrerequisiteError](err)
		if !ok || a.IfMissing == "" {
			return beginResult{"begun", a.Step}, "begun: " + a.Step, err
		}
		err = s.opts.Workflow.Update(ctx, func(root *jsontree.Node) error { return missing.Choose(root, missingStepChoices()[a.IfMissing]) })
		switch a.IfMissing {
		case "run":
			next := string(missing.Next)
			return beginResult{"missing", next}, next + " comes first and was begun: do it, then call step_finish for it", err
		case "abort":
			return beginResult{Outcome: "aborted"}, "the command was ended", err
		}
		return beginResult{"begun", a.Step}, "begun without what it needs: " + a.Step, err
	})
}

type finishArgs struct {
	Step    string `json:"step" jsonschema:"the step"`
	Summary string `json:"summary,omitempty" jsonschema:"what the agents after you should know"`
}

type finishResult struct {
	Completed []workflow.Step `json:"completed" jsonschema:"the steps that are complete now"`
}

func (s *Server) stepFinish() tool {
	return define(s, toolDoc{
		name: "step_finish", title: "Finish a step", need: rightSteps, repeatable: true,
		text:    "Say that a step of the workflow's command is complete, with a summary for the agents after you. Use it when the work of the step is done and checked.",
		example: `{"step": "interviewer", "summary": "Captured 5 decisions"}`,
		shape:   func(p map[string]*jsonschema.Schema) { p["step"].Enum = oneOf(workflow.Steps()...) },
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a finishArgs) (r finishResult, text string, err error) {
		err = s.opts.Workflow.Update(ctx, func(root *jsontree.Node) error {
			if err := workflow.DoneStep(root, workflow.Step(a.Step), a.Summary); err != nil {
				return err
			}
			state, _ := workflow.Read(root.Value())
			r.Completed = state.CompletedSteps
			return nil
		})
		return r, "complete: " + a.Step, err
	})
}

type emitArgs struct {
	Kind   string `json:"kind" jsonschema:"what happened, such as chunk-started; a kind that gaffer does not know is kept as it is"`
	Fields object `json:"fields,omitzero" jsonschema:"further fields: chunk, summary, and those of the kind"`
}

type emitResult struct {
	Event json.RawMessage `json:"event" jsonschema:"the event as stored in the feed"`
}

func (s *Server) eventEmit() tool {
	return define(s, toolDoc{
		name: "event_emit", title: "Add to the activity feed", need: rightNote,
		text:    "Add an event to the activity feed that users and agents follow. Use it when something has happened that they should see: a chunk of a build was started, verified or failed, a checkpoint was saved. The time is set for you.",
		example: `{"kind": "chunk-started", "fields": {"chunk": "Chunk 3: DAG", "attempt": 1}}`,
		shape:   func(p map[string]*jsonschema.Schema) { p["kind"].Examples = oneOf(workflow.Kinds()...) },
	}, func(ctx context.Context, _ *sdk.CallToolRequest, a emitArgs) (r emitResult, text string, err error) {
		draft := workflow.Draft{Kind: a.Kind}
		if len(a.Fields.RawMessage) > 0 {
			if draft.Fields, err = workflow.ParseFields(a.Fields.RawMessage); err != nil {
				return r, "", err
			}
		}
		event, err := s.opts.Workflow.Emit(ctx, draft)
		r.Event = event.Raw()
		return r, "added " + a.Kind + " at " + event.Get("timestamp").Text(), err
	})
}

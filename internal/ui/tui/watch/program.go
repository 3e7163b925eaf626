package watch

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/tui/program"
)

// Backend performs the user's actions.
type Backend interface {
	// Focus sets the run and the task whose details are read in addition to the state of the whole
	// fleet. It does not block.
	Focus(Focus)
	Answer(ctx context.Context, question string, a fleet.Reply) error
	Cancel(ctx context.Context, run, task string) error
	Retry(ctx context.Context, run, task string) error
}

// NewProgram returns a program that shows a model. The backend performs the user's actions.
func NewProgram(ctx context.Context, m Model, t program.Terminal, b Backend) *program.Program {
	m.Color = t.Color
	return program.New(ctx, m, t, func(action any) program.Task { return perform(ctx, b, action) })
}

// perform performs a [Focus] at once and returns the zero [program.Task]. For any other action, it
// returns a [program.Task] that performs the action in the background.
func perform(ctx context.Context, b Backend, action any) program.Task {
	switch action := action.(type) {
	case Focus:
		b.Focus(action)
	case Answer:
		return program.Task{Name: "answer " + action.Name, Do: func() (any, error) {
			err := b.Answer(ctx, action.Question, action.Reply)
			done := "answered " + action.Name + ": " + action.Reply.Text
			switch {
			case action.Reply.Deny:
				done = "denied what " + action.Name + " asked for"
			case action.Reply.Lasting():
				done += " " + action.Reply.Scope.Phrase() + ": " + action.Reply.Rule
			}
			result := resultOf(done, err)
			result.Question = action.Question
			return result, err
		}}
	case Cancel:
		return program.Task{Name: "cancel " + action.Name, Do: func() (any, error) {
			err := b.Cancel(ctx, action.Run, action.Task)
			return resultOf("cancelled "+action.Name, err), err
		}}
	case Retry:
		return program.Task{Name: "retry " + action.Task, Do: func() (any, error) {
			err := b.Retry(ctx, action.Run, action.Task)
			return resultOf(display.Printable(action.Task)+" is queued again", err), err
		}}
	}
	return program.Task{}
}

// resultOf returns a failed Result with the message of err or, if err is nil, a Result with text.
func resultOf(text string, err error) Result {
	if err != nil {
		return Result{Text: err.Error(), Failed: true}
	}
	return Result{Text: text}
}

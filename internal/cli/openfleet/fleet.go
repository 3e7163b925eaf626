package openfleet

import (
	"context"
	"io"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/cli/env"
	"gaffer/internal/connect/localfleet"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
)

// Fleet lets a command read and change runs, on this machine or on a server.
type Fleet interface {
	// Where returns the server's address, or "" for this machine.
	Where() string

	Run(ctx context.Context, id string) (fleet.Run, error)
	Runs(ctx context.Context, everywhere, ended bool) ([]fleet.Run, error)

	// List returns at most limit runs without their tasks, the latest first, including runs that
	// have ended. If everywhere is false, it returns only runs of the command's project.
	List(ctx context.Context, everywhere bool, limit int) ([]fleet.Run, error)

	// Cost returns what attempts have cost. If everywhere is false, it counts only attempts of the
	// command's project.
	Cost(ctx context.Context, everywhere bool, q fleet.CostQuery) (fleet.CostReport, error)

	// Morning returns what has happened to tasks since the time q.Since. If everywhere is false,
	// it includes only tasks of the command's project.
	Morning(ctx context.Context, everywhere bool, q fleet.MorningQuery) (fleet.MorningReport, error)

	// FindRun returns the id of the run that a user means by a text, such as the start of an id. If
	// unfinished is true, it searches only the runs that have not ended. FindTask returns the task
	// that a user means by a text, such as RUN/TASK or a task's id. Both search the command's
	// project, but the whole id of a run always finds that run, in any project.
	FindRun(ctx context.Context, text string, unfinished bool) (string, error)
	FindTask(ctx context.Context, text string) (fleet.Task, error)

	// Follow calls the function visit with the current run: once at the start, and then after every
	// change. It may also call visit without a change. Two calls are at least interval apart.
	// Follow returns when the run has ended, when visit returns an error, or when ctx ends.
	Follow(ctx context.Context, run string, interval time.Duration, visit func(fleet.Run) error) error

	// Latest returns all unfinished runs and the latest n runs of all projects, without their
	// tasks, the latest first.
	Latest(ctx context.Context, n int) ([]fleet.Run, error)
	Workers(ctx context.Context) ([]fleet.Worker, error)
	Questions(ctx context.Context) ([]fleet.Question, error) // open questions, the oldest first
	// AllQuestions returns all questions of a run, including closed ones, the oldest first.
	AllQuestions(ctx context.Context, run string) ([]fleet.QuestionRecord, error)
	Lanes(ctx context.Context) ([]fleet.Lane, error) // paused agent accounts, and cost limits that are reached
	Task(ctx context.Context, run, task string) (fleet.Task, error)
	Attempts(ctx context.Context, run, task string) ([]fleet.Attempt, error)

	// Change returns the files that a task has changed, and the user's review of them. ChangedFile
	// returns the diff of one of these files. If the task's worktree is on another machine, both
	// return an error that says so.
	Change(ctx context.Context, run, task string, q fleet.ChangeQuery) (fleet.TaskChange, error)
	ChangedFile(ctx context.Context, run, task string, q fleet.FileQuery) (fleet.FileChange, error)
	Reviews(ctx context.Context, run string) (fleet.RunReviews, error)

	// Changes calls the function notify at the start and after every change of the fleet's data. It
	// may also call notify without a change. Two calls are at least interval apart. Changes returns
	// when notify returns an error, when ctx ends, or when this machine's database cannot be read.
	Changes(ctx context.Context, interval time.Duration, notify func() error) error

	Submit(ctx context.Context, p plan.Plan) (id string, err error)
	Answer(ctx context.Context, question string, a fleet.Reply) error
	// Grants returns the permission rules that users have made by answering questions, the oldest
	// first. It leaves out rules that no longer hold. RemoveGrant removes a rule.
	Grants(ctx context.Context) ([]fleet.Grant, error)
	RemoveGrant(ctx context.Context, id string) error
	// Permissions counts the requests for permission that agents have made since a time, and how
	// they were answered. If everywhere is false, it counts only requests of the command's project.
	Permissions(ctx context.Context, everywhere bool, since time.Time) ([]fleet.PermissionRequest, error)
	// Ask stores a question for the user that belongs to no task, and returns the question's id.
	// Question returns whether and how a question was answered. Withdraw closes a question. A
	// caller must call Withdraw if it stops waiting for the answer.
	Ask(ctx context.Context, q fleet.Ask) (id string, err error)
	Question(ctx context.Context, id string) (fleet.Answered, error)
	Withdraw(ctx context.Context, question, why string) error

	// Review returns the user's review of a task's change. ChangeReview performs an action such as
	// adding a comment or sending the change back to the agent. It returns the new review.
	Review(ctx context.Context, run, task string) (fleet.Review, error)
	ChangeReview(ctx context.Context, run, task string, a fleet.ReviewAction) (fleet.Review, error)
	// Send sends a message to the agent of the task m.Task in the run m.Run. If this task has
	// ended, its agent is started again. A message whose id was sent before is not sent again.
	Send(ctx context.Context, m fleet.Message) (fleet.Message, error)
	Messages(ctx context.Context, run, task string) ([]fleet.Message, error)
	WithdrawMessage(ctx context.Context, run, task, message string) error
	// Interrupt ends the current turn of a running agent, which is the agent's work on the latest
	// message. The agent's conversation is kept.
	Interrupt(ctx context.Context, run, task string) error

	Cancel(ctx context.Context, run, task, why string) error
	Retry(ctx context.Context, run, task string) error
	// RetryWithBudget is like Retry, and sets the task's budget. RaiseBudget sets the budget of a
	// run, and queues again the tasks that failed because the old budget was spent. If the money or
	// the tokens in budget are zero, their old value stays.
	RetryWithBudget(ctx context.Context, run, task string, budget fleet.Cost) error
	RaiseBudget(ctx context.Context, run string, budget fleet.Cost) error
	// EnsureProcess starts a gaffer process for a run of this machine if no process works on the
	// run. Call it after a user has changed the run, sent a message or sent a change back. For a
	// run on a server it does nothing, because the server starts processes by itself.
	EnsureProcess(ctx context.Context, run string) error

	// Merge merges the changes of tasks, one after the other. UndoMerge undoes the last merge of a
	// task. Discard deletes a task's worktree and keeps a copy of the content. Restore creates the
	// worktree again from that copy.
	Merge(ctx context.Context, request fleet.MergeRequest) ([]fleet.MergeResult, error)
	UndoMerge(ctx context.Context, request fleet.MergeRequest) (fleet.MergeResult, error)
	Discard(ctx context.Context, run, task string) (fleet.Review, error)
	Restore(ctx context.Context, run, task string) (fleet.Review, error)

	// Fork makes a new run with one task. The task starts with a copy of another task's
	// conversation and files. Turns returns the turns of a task's conversation: each is a message
	// of the user and the agent's reply. Fork can copy the conversation up to one of these turns.
	Fork(ctx context.Context, r fleet.ForkRequest) (fleet.ForkResult, error)
	Turns(ctx context.Context, run, task string) ([]fleet.Turn, error)

	// Log writes the output of a task's agents to w, attempt by attempt. If w has a method
	// Begin(attempt int) error, Log calls it before the output of each attempt. If q.Follow is set
	// and w has a method CaughtUp() error, Log calls it when all existing output is written, before
	// it waits for new output.
	Log(ctx context.Context, t fleet.Task, w io.Writer, q fleet.LogQuery) error

	Close() error
}

// UsesServer reports whether the command line or the settings name a server.
func UsesServer(e *env.Env) (bool, error) {
	c, err := e.Config()
	return err == nil && c.Server() != "", err
}

// OpenFleet opens the fleet of the configured server or, if none is configured, of this machine.
// The fleet calls the function notice with messages for the user. If notice is nil, the messages
// are printed to stderr.
func OpenFleet(ctx context.Context, e *env.Env, notice func(text string)) (Fleet, error) {
	far, err := UsesServer(e)
	if err != nil {
		return nil, err
	}
	if far {
		return ServerFleet(e, notice)
	}
	a, err := OpenApp(ctx, e, notice)
	if err != nil {
		return nil, err
	}
	return LocalFleet(a), nil
}

// ServerFleet returns the fleet of the configured server. The fleet calls the function notice with
// messages for the user. If notice is nil, the messages are printed to stderr.
func ServerFleet(e *env.Env, notice func(text string)) (*serverfleet.Fleet, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	client, err := Client(e)
	if err != nil {
		return nil, err
	}
	if notice == nil {
		notice = func(text string) { e.Talk("gaffer: %s", display.Printable(text)) }
	}
	return serverfleet.New(client, serverfleet.Options{Address: c.Server(), Project: c.ProjectName(), Notice: notice, Agent: e.AgentName()}), nil
}

// WithFleet opens the fleet that OpenFleet returns, calls fn with it and closes it.
func WithFleet(ctx context.Context, e *env.Env, fn func(Fleet) error) error {
	f, err := OpenFleet(ctx, e, nil)
	if err != nil {
		return err
	}
	err = fn(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// LocalFleet returns the fleet of this machine. a is the opened app of this process.
func LocalFleet(a *app.App) Fleet { return machine{a.Fleet, a} }

// machine is the fleet of this machine. The embedded Fleet reads and changes runs in the database.
// For other work, such as starting a process or merging changes, machine has methods that call app.
type machine struct {
	*localfleet.Fleet
	app *app.App
}

func (machine) Where() string { return "" }

func (m machine) Submit(ctx context.Context, p plan.Plan) (string, error) {
	return m.app.Submit(ctx, p)
}

func (m machine) EnsureProcess(ctx context.Context, run string) error {
	return m.app.Background.EnsureProcess(ctx, run)
}

func (m machine) Merge(ctx context.Context, request fleet.MergeRequest) ([]fleet.MergeResult, error) {
	return m.app.Landing.Merge(ctx, request)
}

func (m machine) UndoMerge(ctx context.Context, request fleet.MergeRequest) (fleet.MergeResult, error) {
	return m.app.Landing.Undo(ctx, request)
}

func (m machine) Discard(ctx context.Context, run, task string) (fleet.Review, error) {
	return m.app.Landing.Discard(ctx, run, task)
}

func (m machine) Restore(ctx context.Context, run, task string) (fleet.Review, error) {
	return m.app.Landing.Restore(ctx, run, task)
}

func (m machine) Fork(ctx context.Context, r fleet.ForkRequest) (fleet.ForkResult, error) {
	if err := m.MayChange(ctx, r.Run, "gaffer fork"); err != nil {
		return fleet.ForkResult{}, err
	}
	return m.app.Forks.Fork(ctx, r)
}

func (m machine) Turns(ctx context.Context, run, task string) ([]fleet.Turn, error) {
	return m.app.Forks.Turns(ctx, run, task)
}

func (m machine) Close() error { return m.app.Close() }

// Package watch is the terminal screen of 'gaffer watch'. It shows the questions, runs and workers
// of the whole fleet, or one run, or one task with its log, or one question to answer.
//
// [Model] has no side effects. [Model.Update] receives the state of the fleet, the time and keys,
// and returns a new model and the actions that the user wants. [Model.Rows] returns the rows of the
// terminal. The model has a stack of screens (listScreen, taskScreen, questionScreen), each with
// its own state, update and view. [NewProgram] shows the model on a terminal. A [Backend] performs
// the actions; its implementation also reads the state of the fleet and sends it to the program.
package watch

import (
	"time"

	"gaffer/fleet"
	"gaffer/internal/ui/tui/program"
)

// Fleet is the state of the whole fleet at one moment, without the details that a
// [Focus] requests.
type Fleet struct {
	Runs      []fleet.Run // without their tasks, the latest first
	Workers   []fleet.Worker
	Questions []fleet.Question // open questions, the oldest first
	Lanes     []fleet.Lane     // paused agent accounts, and reached cost limits
}

// The data and events that a [Model] receives, in addition to [Fleet] and [fleet.Run].
type (
	// Task is one task with all its attempts.
	Task struct {
		fleet.Task
		Attempts []fleet.Attempt
	}

	// Log is new output of a task's agent. Begin is true in the first event of a log, for example
	// after a new attempt has started. Lines may contain colours but no other control sequences.
	Log struct {
		Run, Task string
		Begin     bool
		Lines     []string
		Ended     bool   // no more output follows
		Problem   string // why the log is missing or incomplete; empty if there is no problem
	}

	// Outage says since when the fleet has been unreachable, and why. A zero time means that the
	// fleet is reachable.
	Outage struct {
		Since time.Time
		Why   string
	}

	// Result is the result of a user's action, or another message for the user.
	Result struct {
		Text     string
		Failed   bool
		Question string // id of the answered question; empty for other results
	}

	// Size is the size of the terminal.
	Size = program.Size

	// Key is a key that was pressed.
	Key = program.Key
)

// Actions that a [Model] returns.
type (
	// Focus selects what is read in addition to the fleet: nothing, a run, or a run and one of its
	// tasks with the task's log.
	Focus struct{ Run, Task string }

	// Answer answers a question, or denies the request that the question is about.
	Answer struct {
		Question, Name string
		Reply          fleet.Reply
	}

	// Cancel cancels a run or, if Task is not empty, that task and the tasks that depend on it.
	Cancel struct{ Run, Task, Name string }

	// Retry queues a failed or cancelled task again.
	Retry struct{ Run, Task string }

	// Quit ends the program.
	Quit = program.Quit
)

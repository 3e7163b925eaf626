// Package watch is the screen of a whole fleet: its questions, runs and workers,
// one run, one task with its log, one question that is answered.
//
// [Model] is pure. What was seen of the fleet, the time and keys go in by
// [Model.Take]; another model and what the person wants done come out, and
// [Model.Rows] are the rows of the screen. [Show] puts that on a terminal. Reading
// the fleet and acting on it is the [World]'s.
package watch

import (
	"time"

	"gaffer/fleet"
)

// Fleet is everything at one moment, as far as it is shown without being asked
// for.
type Fleet struct {
	Runs      []fleet.Run // without their tasks, the latest first
	Workers   []fleet.Worker
	Questions []fleet.Question // those that are open, the oldest first
	Lanes     []fleet.Lane     // those that are paused
}

// What a model is told, beside [Fleet] and [fleet.Run].
type (
	// Task is one task with all tries at it.
	Task struct {
		fleet.Task
		Attempts []fleet.Attempt
	}

	// Log is what an attempt has written since the last one; the first of an
	// attempt has Begin. Lines may have colours and nothing else that steers a
	// terminal.
	Log struct {
		Run, Task string
		Begin     bool
		Lines     []string
		Ended     bool   // no more will come
		Problem   string // why there is none, or no more
	}

	// Away says since when the fleet cannot be read and why, or, with a zero time,
	// that it can.
	Away struct {
		Since time.Time
		Why   string
	}

	// Said is what became of something that the person wanted done.
	Said struct {
		Text     string
		Failed   bool
		Question string // the one that was answered
	}

	// Size is that of the screen.
	Size struct{ Width, Height int }

	// Key is one that was pressed, by its name, with the text that it types, if
	// it does.
	Key struct{ Name, Text string }
)

// What a person wants done.
type (
	// Look is what is to be read beside the fleet: nothing, a run, or also a task
	// of it with its log.
	Look struct{ Run, Task string }

	// Answer answers a question, or denies what it asks for.
	Answer struct {
		Question, Name string
		Text           string
		Deny           bool
	}

	// Cancel ends a run, or one task of it with what waits for it.
	Cancel struct{ Run, Task, Name string }

	// Retry queues a task again.
	Retry struct{ Run, Task string }

	// Quit leaves.
	Quit struct{}
)

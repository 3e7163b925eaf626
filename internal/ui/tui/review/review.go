// Package review is the screen of 'gaffer review'. It shows the list of a run's changes, one for
// each task with a worktree, or one change with its files, its diff, the user's comments and the
// agent's answers.
//
// [Model] has no side effects. It receives data, keys and the time, and returns the actions that
// the user wants: [Show] and [Read] request data, and [Act] is an action on a change or its review.
// Package program shows the model on a terminal.
package review

import (
	"time"

	"gaffer/fleet"
)

// Data that a [Model] receives as events.
type (
	// Changes is the list of a run's changes.
	Changes struct {
		Run     fleet.Run // without its tasks; Entries has the tasks with a change
		Entries []Entry   // in the order of the plan
	}

	// Entry is a change in the list: the task that made it, and the user's review of it.
	Entry struct {
		Task   fleet.Task
		Review fleet.Review
	}

	// Page is a change with its review and the user's messages to the task's agent. If Since is
	// empty, the page contains the whole change. Otherwise Since is the id of the git tree that the
	// user saw at the last review, and the page contains only what has changed since then.
	Page struct {
		Since    string
		Task     fleet.Task
		Change   fleet.Change
		Review   fleet.Review
		Anchors  []fleet.Anchor
		Messages []fleet.Message
	}

	// File is the diff of one file, the result of a [Read].
	File struct {
		Of   Read
		Diff fleet.FileChange
	}

	// ReadFailure says why data could not be read. If Task is empty, the data is the list of
	// changes. If only Path is empty, it is the change of the task. Otherwise it is the diff of a
	// file.
	ReadFailure struct {
		Run, Task, Path string
		Why             string
	}

	// Done is the result of an [Act]; Err is nil if it succeeded.
	Done struct {
		Act Act
		Err error
	}
)

// Actions that a [Model] returns, in addition to [program.Quit].
type (
	// Show requests the change of a task or, if Task is empty, the list of changes. When the status
	// or the review of a task changes, the model receives the data again. If Since is true, the
	// change contains only what is new since the user's last review.
	Show struct {
		Run, Task string
		Since     bool
	}

	// Read requests the diff of a file between the git trees From and Tree. If From is empty, the
	// diff starts at the commit on which the change is based.
	Read struct{ Run, Task, From, Tree, Path string }

	// Act is an action on a change or its review, such as a merge. Kind says which action it is.
	Act struct {
		Run, Task    string
		Kind         Kind
		Comment      fleet.Comment
		Path, Digest string
		Tree         string
	}
)

// Kind is the name of an action on a change or its review, such as "comment".
type Kind string

// Values of Kind.
const (
	Comment  Kind = "comment"
	Edit     Kind = "edit"
	Delete   Kind = "delete"
	Resolve  Kind = "resolve"
	View     Kind = "view"
	Approve  Kind = "approve"
	SendBack Kind = "send_back"
	Merge    Kind = "merge"
	Discard  Kind = "discard"

	UndoMerge Kind = "undo the merge of"
	Restore   Kind = "restore"
)

// done returns the message to the user after the action has succeeded.
func (a Act) done() string {
	switch a.Kind {
	case Comment:
		return "commented; s sends all comments to the agent"
	case Edit:
		return "changed the comment"
	case Delete:
		return "deleted the comment"
	case Resolve:
		if a.Comment.Resolved {
			return "resolved the comment"
		}
		return "opened the comment again"
	case View:
		if a.Digest == "" {
			return a.Path + " is not viewed"
		}
		return "viewed " + a.Path
	case Approve:
		return "approved; m merges it, N goes to the next change"
	case SendBack:
		return "sent back: the agent continues with your comments"
	case Merge:
		return "merged the change of " + a.Task + "; u takes it back"
	case Discard:
		return "discarded the change of " + a.Task + "; u brings it back"
	case UndoMerge:
		return "the merge of " + a.Task + " is undone"
	case Restore:
		return "the change of " + a.Task + " is back"
	}
	return string(a.Kind)
}

// resultTime is how long the result of an action is shown.
const resultTime = 10 * time.Second

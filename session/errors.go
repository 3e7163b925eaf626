package session

import (
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// TransitionError reports a change of an agent's or a session's status that is not allowed, such as
// from Complete to Running.
type TransitionError struct {
	What     string // the agent or session whose status should change, such as "agent 003"
	From, To State
	Allowed  []State // the statuses that may follow From; empty if there are none
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("%s is %s and cannot become %s: %s", e.What, e.From, e.To, e.follows())
}

func (e *TransitionError) follows() string {
	if len(e.Allowed) > 0 {
		return "may become " + orList(e.Allowed)
	}
	if e.From.Final() {
		return string(e.From) + " is final"
	}
	return fmt.Sprintf("%q is not a status of the protocol", string(e.From))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *TransitionError) Conflict() bool { return true }

// BusyError reports that a session cannot be ended, because some of its agents have not ended.
type BusyError struct {
	ID     string
	Agents []string
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s cannot end: not finished: agent %s", e.ID, joinIDs(e.Agents))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *BusyError) Conflict() bool { return true }

// Hint tells the user what to do next.
func (e *BusyError) Hint() string {
	return "end the agents first, or cancel the session"
}

// NotFoundError reports a session or an agent that does not exist.
type NotFoundError struct {
	What    string // the kind of the missing object: "session" or "agent"
	ID      string
	Where   string
	Similar []string // existing ids that resemble ID
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("%s %s: not found in %s", e.What, e.ID, e.Where)
	if len(e.Similar) > 0 {
		text += "; there is " + joinIDs(e.Similar)
	}
	return text
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }

// ActiveError reports that the symbolic link active-session does not exist or does not lead to a
// session.
type ActiveError struct {
	Path, Problem string
}

func (e *ActiveError) Error() string { return e.Path + ": " + e.Problem }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *ActiveError) NotFound() bool { return true }

// Hint tells the user what to do next.
func (e *ActiveError) Hint() string { return "name a session by its id" }

// DocumentError reports a session's document that cannot be changed, because it does not have the
// structure that the session protocol requires. For example, it may not be a JSON object.
type DocumentError struct {
	Path     string
	Mismatch jsontree.Mismatch
}

func (e *DocumentError) Error() string { return e.Path + ": " + e.Mismatch.String() }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *DocumentError) Invalid() bool { return true }

// DraftError reports that a session was not created, because its agents or waves are invalid.
type DraftError struct {
	At      string // position of the invalid value, such as agents[2].id, or the name of an invalid file
	Problem string
}

func (e *DraftError) Error() string { return e.At + ": " + e.Problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *DraftError) Invalid() bool { return true }

// SourceError reports an invalid source of a new session. [Sources] lists the valid values.
type SourceError struct{ Source string }

func (e *SourceError) Error() string {
	return fmt.Sprintf("source %q: want %s", e.Source, orList(sources))
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *SourceError) Usage() bool { return true }

// orList joins words as in "a, b or c".
func orList[S ~string](words []S) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// joinIDs joins the first eight ids with commas. If there are more, it appends the number of the
// remaining ids, as in "1, 2, 3, 4, 5, 6, 7, 8 and 3 more".
func joinIDs(ids []string) string {
	const most = 8
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

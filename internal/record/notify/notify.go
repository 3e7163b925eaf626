// Package notify notifies the user: an agent asks a question, a task has finally
// failed, a worker went offline, a run has ended, a budget is used up.
//
// Pure functions derive notifications from the store's events, and decide when to send
// them, given the quiet hours and the number of recent messages. A notification stays
// queued in the store until it is sent. So if several programs use one store and one of
// them ends, another sends the notification. If a program dies after it has sent a
// notification and before it has recorded that, the notification is sent again with the
// same id. So each notification is sent at least once.
package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Kind is the kind of a notification.
type Kind string

// The kinds. Users can choose among the first five.
const (
	Waiting  Kind = "waiting"  // an agent asks the user
	Failed   Kind = "failed"   // a task has failed and will not be retried
	Offline  Kind = "offline"  // a worker no longer sends heartbeats
	Finished Kind = "finished" // a run has ended
	Budget   Kind = "budget"   // a run has spent most or all of its budget
	Digest   Kind = "digest"   // several notifications in one
	Test     Kind = "test"     // a test message that the user requested
)

// Kinds returns the kinds that users can select from.
func Kinds() []Kind { return []Kind{Waiting, Failed, Offline, Finished, Budget} }

// Note is one notification. Receivers get its JSON.
type Note struct {
	ID       string    `json:"id"` // computed from the event, so every program that sends this notification uses the same id
	Kind     Kind      `json:"kind"`
	Time     time.Time `json:"time"`  // time of the event
	Title    string    `json:"title"` // one short line
	Text     string    `json:"text"`  // details, in a few lines
	Next     string    `json:"next,omitempty"`
	Run      string    `json:"run,omitempty"`
	RunName  string    `json:"run_name,omitempty"`
	Project  string    `json:"project,omitempty"`
	Task     string    `json:"task,omitempty"`
	Status   string    `json:"status,omitempty"`   // final status of the run
	Class    string    `json:"class,omitempty"`    // failure class of the task
	Worker   string    `json:"worker,omitempty"`   // id of the worker
	Question string    `json:"question,omitempty"` // id of the question
	Options  []string  `json:"options,omitempty"`  // possible answers
	Count    int       `json:"count,omitempty"`    // digest only: number of notifications
	Notes    []Note    `json:"notes,omitempty"`    // digest only: the first notifications

	Seen time.Time `json:"seen,omitzero"` // worker only: time of its last heartbeat
}

// idOf returns a hash of its arguments. It does not reveal them, and every program that
// reads the same store computes the same id.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Package notify notifies the user when an agent asks a question, a task has failed and will not be
// retried, a worker is offline, a run has ended, or most of a budget is used. It also sends a daily
// report.
//
// Notifications are computed from the data in the store, most of them from events. A notification
// stays queued in the store until it is sent or given up. So if several programs use one store and
// one of them ends, another one sends the notification.
//
// A notification is sent twice, with the same id, if a program dies after sending it and before
// storing that it was sent.
package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Kind is the kind of a notification.
type Kind string

// The kinds of notifications. In the settings, users choose which of the first five kinds they get.
const (
	Waiting  Kind = "waiting"  // an agent waits for an answer of the user
	Failed   Kind = "failed"   // a task has failed for good, or a schedule could not start a run
	Offline  Kind = "offline"  // a worker no longer sends heartbeats
	Finished Kind = "finished" // a run has ended
	Budget   Kind = "budget"   // most or all of a run's budget or of the user's spending limit is used
	Report   Kind = "report"   // the daily report about what has happened to tasks
	Digest   Kind = "digest"   // several notifications in one message
	Test     Kind = "test"     // a test message that the user requested
)

// Kinds returns the kinds of notifications that users can turn on and off in their settings.
func Kinds() []Kind { return []Kind{Waiting, Failed, Offline, Finished, Budget} }

// Notification is one notification. Receivers get it as JSON.
type Notification struct {
	// ID depends only on what the notification is about, so that all programs use the same id for
	// the same notification. Only a test message has a random id.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Time is when the event happened, or when gaffer noticed the problem. For a digest, it is the
	// latest time of its notifications.
	Time     time.Time      `json:"time"`
	Title    string         `json:"title"` // one short line
	Text     string         `json:"text"`  // details, in a few lines
	Next     string         `json:"next,omitempty"`
	Run      string         `json:"run,omitempty"`
	RunName  string         `json:"run_name,omitempty"`
	Project  string         `json:"project,omitempty"`
	Task     string         `json:"task,omitempty"`
	Status   string         `json:"status,omitempty"`   // final status of the run
	Class    string         `json:"class,omitempty"`    // class of the task's failure, such as timeout
	Worker   string         `json:"worker,omitempty"`   // id of the worker
	Question string         `json:"question,omitempty"` // id of the question
	Options  []string       `json:"options,omitempty"`  // possible answers
	Count    int            `json:"count,omitempty"`    // number of notifications that a digest combines; 0 for other kinds
	Notes    []Notification `json:"notes,omitempty"`    // the first notifications that a digest combines; empty for other kinds

	Seen time.Time `json:"seen,omitzero"` // time of the offline worker's last heartbeat; zero for other kinds
}

// idOf returns a hash of its arguments in hex. The same arguments give the same id in every
// program. The arguments cannot be derived from the id.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

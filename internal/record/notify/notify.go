// Package notify tells a person what needs them while they look elsewhere: an
// agent asks, a task has failed for good, a worker went offline, a run has ended,
// a budget is used up.
//
// What is to be told follows from the store by pure functions; so does when it is
// told, given the quiet hours and how much was told lately. What is told over a
// channel waits in the store until it was told, so that several programs on one
// store, and those that come after them, tell it once. A program that dies after
// it has told and before it has noted that leaves it to be told again, with the
// same id: at least once, never lost.
package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Kind is what a note is about.
type Kind string

// The kinds. The first five can be chosen from.
const (
	Waiting  Kind = "waiting"  // an agent asks a person
	Failed   Kind = "failed"   // a task has failed and is not tried again
	Offline  Kind = "offline"  // a worker is not heard of any more
	Finished Kind = "finished" // a run has ended
	Budget   Kind = "budget"   // a run has spent most of what it may, or all
	Digest   Kind = "digest"   // several at once
	Test     Kind = "test"     // a person wants to see that it works
)

// Kinds are those that can be chosen from.
func Kinds() []Kind { return []Kind{Waiting, Failed, Offline, Finished, Budget} }

// Note is one thing that a person is told. Its JSON is what receivers get.
type Note struct {
	ID       string    `json:"id"` // the same whenever the same is told, whoever tells it
	Kind     Kind      `json:"kind"`
	Time     time.Time `json:"time"`  // when it happened
	Title    string    `json:"title"` // one short line
	Text     string    `json:"text"`  // the rest, in few lines
	Next     string    `json:"next,omitempty"`
	Run      string    `json:"run,omitempty"`
	RunName  string    `json:"run_name,omitempty"`
	Project  string    `json:"project,omitempty"`
	Task     string    `json:"task,omitempty"`
	Status   string    `json:"status,omitempty"`   // of the run that has ended
	Class    string    `json:"class,omitempty"`    // how the task has failed
	Worker   string    `json:"worker,omitempty"`   // its id
	Question string    `json:"question,omitempty"` // its id
	Options  []string  `json:"options,omitempty"`  // to answer it with
	Count    int       `json:"count,omitempty"`    // of a digest: how many
	Notes    []Note    `json:"notes,omitempty"`    // of a digest: the first of them

	Seen time.Time `json:"seen,omitzero"` // of a worker: when it was last heard of
}

// idOf names what is told. It says nothing to others, and is the same in every
// program that finds the same in a store.
func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

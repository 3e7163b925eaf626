package teamwork

import (
	"time"

	"gaffer/team"
)

// Session is a team at work, as it follows from what happened.
type Session struct{}

// New returns a session that begins.
func New(s Start, at time.Time) *Session { panic("contract") }

// Begin takes in that a step's task was queued. What [Session.Next] did not ask
// for is an error and changes nothing.
func (s *Session) Begin(step Step, at time.Time) error { panic("contract") }

// End takes in that the task of a step that has begun has ended for good.
func (s *Session) End(id string, e Ending) error { panic("contract") }

// Resume takes in that a person wants a session to go on that ended with an
// error: limits count anew, and what failed is tried again.
func (s *Session) Resume(at time.Time) { panic("contract") }

// Next lists the steps that are to begin now, in order. It changes nothing.
func (s *Session) Next() []Step { panic("contract") }

// Outcome says how the session ended, and whether it did.
func (s *Session) Outcome() (o Outcome, ended bool) { panic("contract") }

// Brief is what the role of a step needs to know.
func (s *Session) Brief(step Step, w World) Brief { panic("contract") }

// Picture is what the documents are to say.
func (s *Session) Picture(w World) team.Picture { panic("contract") }

// Branch is the branch of a group.
func (s *Session) Branch(group string) string { panic("contract") }

package hookevents

import (
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/host"
)

// Status is what an agent does.
type Status string

// The statuses.
const (
	Idle    Status = "idle"
	Running Status = "running"
	Waiting Status = "waiting" // for a person
)

// Session is what the hooks of one session of a program have said so far. It is
// the document that is kept of it.
type Session struct {
	Program    string       `json:"program"`
	Session    string       `json:"session"`
	Process    host.Process `json:"process,omitzero"`  // of the agent, if it is known
	Attempt    string       `json:"attempt,omitempty"` // gaffer's own, if it runs the agent
	Dir        string       `json:"dir,omitempty"`
	Transcript string       `json:"transcript,omitempty"`
	Model      string       `json:"model,omitempty"`

	Status Status    `json:"status"`
	Since  time.Time `json:"since"` // when the status began
	Event  string    `json:"event"` // the last one
	At     time.Time `json:"at"`    // of that
	Error  string    `json:"error,omitempty"`
	Ended  bool      `json:"ended,omitempty"`

	Asked      []Asked `json:"asked,omitempty"`      // what a person has to decide
	Helpers    int     `json:"helpers,omitempty"`    // agents that went on when the turn had ended
	Compacting string  `json:"compacting,omitempty"` // what has brought it about: a person, or a full context
	Trails     []Trail `json:"trails,omitempty"`
	Loop       string  `json:"loop,omitempty"` // what it does again and again, for a person
}

// Asked is something that a person has to decide.
type Asked struct {
	Agent string `json:"agent,omitempty"`
	Tool  string `json:"tool,omitempty"`
	What  string `json:"what,omitempty"`
	// Question is the id of what a person elsewhere is asked about it.
	Question string `json:"question,omitempty"`
}

// Link has the last thing that is asked for be a question to a person elsewhere,
// or be it no more.
func (s Session) Link(from, to string) Session {
	s.Asked = slices.Clone(s.Asked)
	for i := range slices.Backward(s.Asked) {
		if s.Asked[i].Question == from {
			s.Asked[i].Question = to
			break
		}
	}
	return s
}

// open are the questions that people elsewhere are asked.
func (s Session) open() (ids []string) {
	for _, a := range s.Asked {
		if a.Question != "" {
			ids = append(ids, a.Question)
		}
	}
	return ids
}

// Trail is what one agent of a session has last done, and how often in a row.
type Trail struct {
	Agent  string `json:"agent,omitempty"`
	Tool   string `json:"tool"`
	Input  string `json:"input"`
	Same   int    `json:"same"`   // calls in a row with the same input
	Failed int    `json:"failed"` // calls of the tool in a row that have failed
}

// For is what the session waits for, in a line.
func (s Session) For() string {
	if len(s.Asked) == 0 {
		return ""
	}
	a := s.Asked[len(s.Asked)-1]
	switch {
	case a.Tool == "":
		return a.What
	case a.What == "":
		return a.Tool
	}
	return a.Tool + ": " + a.What
}

// ID is the worker that the session belongs to. One process is one worker,
// whatever sessions it goes through.
func (s Session) ID() string { return ID(s.Program, s.Process, s.Session) }

// Worker is the name by which a person calls that worker.
func (s Session) Worker() string { return Name(s.Program, s.Process, s.Session) }

// ID is that of the worker which a process is, or a session without one.
func ID(program string, p host.Process, session string) string {
	text := fmt.Sprintf("%s\x00%s", program, session)
	if p.PID > 0 {
		text = fmt.Sprintf("%s\x00%s\x00%d\x00%d", p.Boot, p.Space, p.PID, p.Start)
	}
	const digits = 12 // enough for the agents of a fleet
	return program + "-" + fingerprint([]byte(text))[:digits]
}

// Name is what a person calls that worker.
func Name(program string, p host.Process, session string) string {
	if p.PID > 0 {
		return fmt.Sprintf("%s-%d", program, p.PID)
	}
	name := session
	if !IsPlain(name) {
		name = ID("", host.Process{}, session)[1:]
	}
	return program + "-" + name[max(0, len(name)-8):]
}

// IsPlain tells whether an id is one that may stand in a file's name.
func IsPlain(id string) bool {
	for _, r := range id {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return id != "" && len(id) <= 80
}

// known tells whether this is a session that was heard of.
func (s Session) known() bool { return s.Status != "" }

// become sets the status, which begins now if it was another one.
func (s *Session) become(status Status, now time.Time) {
	if s.Status != status {
		s.Status, s.Since = status, now
	}
}

func (s *Session) trail(agent string) *Trail {
	i := slices.IndexFunc(s.Trails, func(t Trail) bool { return t.Agent == agent })
	if i < 0 {
		const most = 16
		if len(s.Trails) == most {
			s.Trails = s.Trails[1:]
		}
		s.Trails = append(s.Trails, Trail{Agent: agent})
		i = len(s.Trails) - 1
	}
	return &s.Trails[i]
}

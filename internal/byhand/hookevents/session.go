package hookevents

import (
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/host"
)

// Status is the status of an agent.
type Status string

// The statuses of an agent.
const (
	Idle    Status = "idle"
	Running Status = "running"
	Waiting Status = "waiting" // the agent waits for the user
)

// Session is the state of one session of an agent program, according to its hooks. It is stored in
// a file of its own, which is called the session's document.
type Session struct {
	Program    string       `json:"program"`
	Session    string       `json:"session"`
	Process    host.Process `json:"process,omitzero"`  // the agent's process; zero if unknown
	Attempt    string       `json:"attempt,omitempty"` // id of the attempt; empty if gaffer does not run the agent
	Dir        string       `json:"dir,omitempty"`
	Transcript string       `json:"transcript,omitempty"`
	Model      string       `json:"model,omitempty"`

	Status Status    `json:"status"`
	Since  time.Time `json:"since"` // when the status began
	Event  string    `json:"event"` // name of the last event
	At     time.Time `json:"at"`    // time of the last event
	Error  string    `json:"error,omitempty"`
	Ended  bool      `json:"ended,omitempty"`

	Asked   []PendingDecision `json:"asked,omitempty"`   // decisions that the agent waits for the user to make
	Helpers int               `json:"helpers,omitempty"` // number of subagents that are still running after the end of the main agent's turn
	// Compacting says why a compaction of the agent's context is running: manual (the user has
	// requested it) or auto (the context is full). It is empty if no compaction is running.
	Compacting string         `json:"compacting,omitempty"`
	Repeats    []RepeatedCall `json:"trails,omitempty"`
	Doing      string         `json:"doing,omitempty"` // last tool call of the agent's current turn; after the turn, the agent's last message
	Loop       string         `json:"loop,omitempty"`  // the repeated action, in words for the user; empty if there is no loop
}

// PendingDecision is a decision that the agent waits for the user to make.
type PendingDecision struct {
	Agent string `json:"agent,omitempty"`
	Tool  string `json:"tool,omitempty"`
	What  string `json:"what,omitempty"`
	// Question is the id of gaffer's question about this decision; empty if gaffer has not asked.
	Question string `json:"question,omitempty"`
}

// Link finds the latest pending decision about which gaffer has asked the question with the id
// oldID, and replaces this id with newID. If oldID is empty, it finds the latest decision about
// which gaffer has asked no question. If newID is empty, the decision no longer has a question.
func (s Session) Link(oldID, newID string) Session {
	s.Asked = slices.Clone(s.Asked)
	for i := range slices.Backward(s.Asked) {
		if s.Asked[i].Question == oldID {
			s.Asked[i].Question = newID
			break
		}
	}
	return s
}

// open returns the ids of gaffer's questions to the user about decisions that are still pending.
func (s Session) open() (ids []string) {
	for _, a := range s.Asked {
		if a.Question != "" {
			ids = append(ids, a.Question)
		}
	}
	return ids
}

// RepeatedCall is the last tool call of one agent of a session, and how often the agent has
// repeated it in a row.
type RepeatedCall struct {
	Agent  string `json:"agent,omitempty"`
	Tool   string `json:"tool"`
	Input  string `json:"input"`
	Same   int    `json:"same"`   // number of calls in a row with the same input
	Failed int    `json:"failed"` // number of failed calls of the tool in a row
}

// WaitsFor returns one line that says what the session waits for, or "" if it does not wait.
func (s Session) WaitsFor() string {
	if len(s.Asked) == 0 {
		return ""
	}
	a := s.Asked[len(s.Asked)-1]
	return describeCall(a.Tool, a.What)
}

// describeCall returns a tool call on one line, such as "Bash: make". Both parameters may be empty.
func describeCall(tool, what string) string {
	if tool == "" || what == "" {
		return tool + what
	}
	return tool + ": " + what
}

// ID returns the id under which a fleet lists the process of the session as a worker. If a process
// has several sessions, one after another, all of them have the same id.
func (s Session) ID() string { return WorkerID(s.Program, s.Process, s.Session) }

// Worker returns the name under which a fleet lists the process of the session as a worker, such as
// claude-4711.
func (s Session) Worker() string { return WorkerName(s.Program, s.Process, s.Session) }

// WorkerID returns the id under which a fleet lists an agent's process as a worker. The id is a
// hash of the process, or of the session if the process is unknown.
func WorkerID(program string, p host.Process, session string) string {
	text := fmt.Sprintf("%s\x00%s", program, session)
	if p.PID > 0 {
		text = fmt.Sprintf("%s\x00%s\x00%d\x00%d", p.Boot, p.Space, p.PID, p.Start)
	}
	const digits = 12 // enough to be unique among the agents of a fleet
	return program + "-" + fingerprint([]byte(text))[:digits]
}

// WorkerName returns the name under which a fleet lists an agent's process as a worker, such as
// claude-4711. If the process is unknown, the name contains the end of the session's id.
func WorkerName(program string, p host.Process, session string) string {
	if p.PID > 0 {
		return fmt.Sprintf("%s-%d", program, p.PID)
	}
	name := session
	if !IsFileNameSafe(name) {
		name = WorkerID("", host.Process{}, session)[1:]
	}
	return program + "-" + name[max(0, len(name)-8):]
}

// IsFileNameSafe reports whether an id is valid as part of a file name.
func IsFileNameSafe(id string) bool {
	for _, r := range id {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return id != "" && len(id) <= 80
}

// known reports whether the session has had an event, so that its status is known.
func (s Session) known() bool { return s.Status != "" }

// setStatus sets the status. If it differs from the previous status, it also sets when the status
// began.
func (s *Session) setStatus(status Status, now time.Time) {
	if s.Status != status {
		s.Status, s.Since = status, now
	}
}

func (s *Session) repeatsOf(agent string) *RepeatedCall {
	i := slices.IndexFunc(s.Repeats, func(t RepeatedCall) bool { return t.Agent == agent })
	if i < 0 {
		const limit = 16
		if len(s.Repeats) == limit {
			s.Repeats = s.Repeats[1:]
		}
		s.Repeats = append(s.Repeats, RepeatedCall{Agent: agent})
		i = len(s.Repeats) - 1
	}
	return &s.Repeats[i]
}

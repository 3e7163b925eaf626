package session

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// SchemaVersion is the schema_version that gaffer writes into the document of a session.
const SchemaVersion = "1.0"

// Status is the content of the document of one session, the file status.json.
type Status struct {
	SchemaVersion string  `json:"schema_version"`
	SessionID     string  `json:"session_id"`
	Source        string  `json:"source"`
	SourceFile    string  `json:"source_file"`
	StartedAt     Time    `json:"started_at"`
	CompletedAt   Time    `json:"completed_at"`
	Status        State   `json:"status"`
	Agents        []Agent `json:"agents"`
	Summary       Summary `json:"summary"`
	Waves         []Wave  `json:"waves"`
}

// Agent is one agent of a session. If a JSON member is null or missing in the session's document,
// the Go field is nil or has the zero value. The exception is Status: [Decode] sets it to Queued.
type Agent struct {
	ID              string   `json:"id"`
	Name            string   `json:"name"`
	PromptPath      string   `json:"prompt_path"`
	Status          State    `json:"status"`
	Wave            *int     `json:"wave"`
	StartedAt       Time     `json:"started_at"`
	CompletedAt     Time     `json:"completed_at"`
	DurationSeconds *float64 `json:"duration_seconds"`
	ExitCode        *int     `json:"exit_code"`
	PID             *int     `json:"pid"`
	LogFile         string   `json:"log_file"`
	Model           string   `json:"model"`
	Error           *string  `json:"error"`
}

// Summary counts the agents of a session by status.
type Summary struct {
	Total     int `json:"total"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Complete  int `json:"complete"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
}

// Wave is a group of agents of a session that run at the same time. The field Wave is its number,
// and Agents has the ids of its agents.
type Wave struct {
	Wave   int      `json:"wave"`
	Status State    `json:"status"`
	Agents []string `json:"agents"`
}

// Time is a time in a session's document. The zero Time is written as null. [Time.DecodeJSON]
// accepts RFC 3339 and similar formats, such as 2026-02-01 14:30:25, and treats a time without a
// zone as local time. [Time.MarshalJSON] writes UTC with the suffix Z.
type Time struct{ time.Time }

// wantTime is the text of the error that [Time.DecodeJSON] returns if a value is not a time.
// [Check] compares the text, because it reports invalid times under another name than other values
// of a wrong type.
const wantTime = "a time"

// MarshalJSON returns null for the zero time, and any other time in RFC 3339 and UTC.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(timestamp.Format(t.Time))
}

// DecodeJSON reads a time in RFC 3339 or a similar format, such as 2026-02-01 14:30:25. It treats a
// time without a zone as local time.
func (t *Time) DecodeJSON(v jsontree.Value) error {
	text, ok := v.Str()
	if !ok {
		return errors.New(wantTime)
	}
	read, err := timestamp.Parse(text, time.Local)
	if err != nil {
		return errors.New(wantTime)
	}
	t.Time = read
	return nil
}

// Decode converts a session's document to a Status. It skips the values that have the wrong type,
// and returns a list of them. If a status is missing or null, Decode sets it to Running for the
// session, and to Queued for an agent.
func Decode(v jsontree.Value) (Status, []jsontree.Mismatch) {
	var s Status
	found := jsontree.Decode(v, &s)
	if s.Status == "" && v.Get("status").Absent() {
		s.Status = Running
	}
	i := 0
	for _, agent := range v.Get("agents").Items() {
		if agent.Get("status").Absent() {
			s.Agents[i].Status = Queued
		}
		i++
	}
	return s, found
}

// IsComplete reports whether the session has ended: its status is Complete, Failed or Cancelled.
func (s Status) IsComplete() bool { return s.Status.Final() }

// RunningAgents returns the running agents.
func (s Status) RunningAgents() []Agent { return s.agentsIn(Running) }

// PendingAgents returns the queued agents.
func (s Status) PendingAgents() []Agent { return s.agentsIn(Queued) }

func (s Status) agentsIn(state State) []Agent {
	return slices.DeleteFunc(slices.Clone(s.Agents), func(a Agent) bool { return a.Status != state })
}

// Count counts the agents by status, and does not use the counts in s.Summary.
func (s Status) Count() Summary {
	var sum Summary
	for _, a := range s.Agents {
		sum.add(a.Status)
	}
	return sum
}

// add counts one agent that has the status state. If state is none of the known statuses, the agent
// counts only in Total.
func (s *Summary) add(state State) {
	s.Total++
	switch state {
	case Queued:
		s.Queued++
	case Running:
		s.Running++
	case Complete:
		s.Complete++
	case Failed:
		s.Failed++
	case Cancelled:
		s.Cancelled++
	}
}

// final reports whether all counted agents have ended. It returns true if no agents were counted.
func (s Summary) final() bool { return s.Complete+s.Failed+s.Cancelled == s.Total }

// outcome returns the final status of a session whose agents have these counts. It is Failed if at
// least one agent has failed. Otherwise it is Complete, even if agents were cancelled.
func (s Summary) outcome() State {
	if s.Failed > 0 {
		return Failed
	}
	return Complete
}

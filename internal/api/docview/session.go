package docview

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gaffer/session"
	"gaffer/statefile"
)

// SessionWave is a group of agents of a session that run at the same time.
type SessionWave struct {
	Number int            `json:"number"` // 0 for the agents that belong to no wave
	Status string         `json:"status"`
	Agents []SessionAgent `json:"agents"`
}

// SessionAgent is one agent of a session.
type SessionAgent struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Status  string    `json:"status"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Seconds is how long the agent ran. It is missing while the agent is running, or if the
	// duration is unknown.
	Seconds *float64 `json:"seconds,omitempty"`
	Error   string   `json:"error,omitempty"`
	PID     int      `json:"pid,omitempty"` // process id; only while the agent is running
	Model   string   `json:"model,omitempty"`
	// Log is the path of the agent's log file as named in the session's document. If the document
	// names none, Log is the default file name. Log is empty if the session's folder has no log of
	// the agent.
	Log string `json:"log,omitempty"`
}

// SessionPicture is the view of one session, with the problems that were found in its document.
type SessionPicture struct {
	Session  SessionEntry `json:"session"`
	Problems []string     `json:"problems"`
}

const maxAgents = 5000 // maximum number of agents shown

// Session returns the view of one session. If the session's document cannot be read, the view
// contains this problem. If the document does not exist, Session returns an error.
func (s *SessionReader) Session(id string) (SessionPicture, error) {
	doc, err := s.store.Document(id)
	picture := SessionPicture{Session: SessionEntry{ID: id}, Problems: []string{}}
	switch {
	case isMissing(err):
		return picture, err
	case err != nil:
		picture.Session.Problem = why(err)
		picture.Problems = append(picture.Problems, "status.json: "+why(err))
		return picture, nil
	}
	v := doc.Value()
	picture.Session = entryOf(id, v, doc.Bytes())
	status, _ := session.Decode(v)
	if len(status.Agents) > maxAgents {
		picture.Problems = append(picture.Problems, fmt.Sprintf("status.json: has %d agents: the first %d are shown", len(status.Agents), maxAgents))
		status.Agents = status.Agents[:maxAgents]
	}
	picture.Session.Waves = s.waves(id, status)
	picture.Problems = append(picture.Problems, problemsOf("status.json", session.Check("status.json", v))...)
	return picture, nil
}

// isMissing reports whether err means that a session does not exist. This includes the error for a
// session id that is not a valid folder name, because no session can have such an id.
func isMissing(err error) bool {
	if _, ok := errors.AsType[*session.NotFoundError](err); ok {
		return true
	}
	_, ok := errors.AsType[*statefile.NameError](err)
	return ok || missing(err)
}

// waves returns the waves of a session with their agents. An agent belongs to the wave that lists
// the agent's id. If no wave lists it, addUnlisted chooses the wave. Listed ids that no agent has
// are ignored.
func (s *SessionReader) waves(id string, status session.Status) []SessionWave {
	logs := s.logs(id)
	at := map[string]int{}
	for i, a := range slices.Backward(status.Agents) {
		at[a.ID] = i
	}
	var list []SessionWave
	number := map[int]int{}
	placed := make([]bool, len(status.Agents))
	for _, w := range status.Waves {
		if _, twice := number[w.Wave]; !twice {
			number[w.Wave] = len(list)
			list = append(list, SessionWave{Number: w.Wave, Agents: []SessionAgent{}})
		}
		wave := &list[number[w.Wave]]
		for _, member := range w.Agents {
			if i, ok := at[member]; ok && !placed[i] {
				placed[i] = true
				wave.Agents = append(wave.Agents, agentOf(status.Agents[i], logs))
			}
		}
		wave.Status = waveStatus(wave.Agents, w.Status)
	}
	return addUnlisted(list, number, placed, status, logs)
}

// addUnlisted adds to list the agents that no wave lists. Each goes to the wave that the agent
// itself names. An agent that names no wave goes to wave 0 or, if the document has no waves, to
// wave 1.
func addUnlisted(list []SessionWave, number map[int]int, placed []bool, status session.Status, logs map[string]string) []SessionWave {
	for i, a := range status.Agents {
		if placed[i] {
			continue
		}
		n := 0
		if a.Wave != nil {
			n = *a.Wave
		} else if len(status.Waves) == 0 {
			n = 1
		}
		if _, known := number[n]; !known {
			number[n] = len(list)
			list = append(list, SessionWave{Number: n, Agents: []SessionAgent{}})
		}
		wave := &list[number[n]]
		wave.Agents = append(wave.Agents, agentOf(a, logs))
		wave.Status = waveStatus(wave.Agents, session.State(wave.Status))
	}
	slices.SortStableFunc(list, func(a, b SessionWave) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// waveStatus computes the status of a wave from its agents, because the status in the document, the
// parameter said, may be out of date. It returns said only if the wave has no agents.
func waveStatus(agents []SessionAgent, said session.State) string {
	ended, begun := 0, 0
	for _, a := range agents {
		state := session.State(a.Status)
		if state.Final() {
			ended++
		}
		if state != session.Queued {
			begun++
		}
	}
	switch {
	case len(agents) == 0:
		return listed.cut(string(said))
	case ended == len(agents):
		return string(session.Complete)
	case begun > 0:
		return string(session.Running)
	}
	return string(session.Pending)
}

func agentOf(a session.Agent, logs map[string]string) SessionAgent {
	v := SessionAgent{
		ID: listed.cut(a.ID), Name: listed.cut(a.Name), Status: listed.cut(string(a.Status)), Model: listed.cut(a.Model),
		Started: representable(a.StartedAt.Time), Ended: representable(a.CompletedAt.Time),
	}
	if a.Error != nil {
		v.Error = limits{text: 2000}.cut(*a.Error)
	}
	if a.PID != nil && *a.PID > 0 && !a.Status.Final() {
		v.PID = *a.PID
	}
	v.Seconds = seconds(a)
	if name := logName(a.ID, a.LogFile, logs); name != "" {
		v.Log = listed.cut(cmp.Or(a.LogFile, name))
	}
	return v
}

// seconds returns how long an ended agent ran, or nil if that is unknown.
func seconds(a session.Agent) *float64 {
	if a.DurationSeconds != nil && *a.DurationSeconds >= 0 {
		return a.DurationSeconds
	}
	if a.StartedAt.IsZero() || a.CompletedAt.IsZero() {
		return nil
	}
	took := max(0, a.CompletedAt.Sub(a.StartedAt.Time).Seconds())
	return &took
}

// logName returns the name of an agent's log in the session's folder. The parameter said is the
// path of the log in the document, or empty. If there is no file of that name, logName returns the
// default name that the session protocol defines. If there is no such file either, it returns "".
func logName(id, said string, logs map[string]string) string {
	if said != "" {
		if name := filepath.Base(said); logs[name] != "" {
			return name
		}
	}
	return logs[id+".log"]
}

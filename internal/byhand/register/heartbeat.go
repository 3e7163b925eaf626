package register

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/byhand/discover"
)

// due returns the heartbeats to send. Heartbeats are due for agents that are new, have changed or
// have ended, and for agents whose last heartbeat is too old. If only the agent's current activity
// has changed, the next heartbeat is due nowInterval after the last one, because the activity may
// change with every tool call.
func due(previous map[string]sentBeat, list []discover.Agent, host string, now time.Time) (beats []coordinator.Heartbeat) {
	there := map[string]bool{}
	for _, s := range list {
		h := Heartbeat(s, host)
		there[h.AgentID] = true
		last, known := previous[h.AgentID]
		age := now.Sub(last.at)
		if !known || differ(last.Heartbeat, h) || last.Now != h.Now && age >= nowInterval || age >= beatInterval || age < 0 {
			beats = append(beats, h)
		}
	}
	for id, last := range previous {
		if !there[id] {
			last.Gone = true
			beats = append(beats, last.Heartbeat)
		}
	}
	slices.SortFunc(beats, func(a, b coordinator.Heartbeat) int { return strings.Compare(a.AgentID, b.AgentID) })
	return beats
}

func differ(a, b coordinator.Heartbeat) bool {
	return a.Name != b.Name || a.ClaudeStatus != b.ClaudeStatus || !bytes.Equal(a.Meta, b.Meta)
}

// Metadata is the part of a heartbeat that describes an agent which a user has started by hand.
type Metadata struct {
	Program string  `json:"program"` // claude, codex or gemini
	Host    string  `json:"host,omitempty"`
	Source  string  `json:"source"` // source of the agent's status, such as hook or title
	ByHand  bool    `json:"by_hand"`
	Dir     string  `json:"dir,omitempty"`
	PID     int     `json:"pid,omitempty"`
	Session string  `json:"session,omitempty"`
	Pane    string  `json:"pane,omitempty"` // id of the tmux pane
	Model   string  `json:"model,omitempty"`
	For     string  `json:"for,omitempty"` // what the agent waits for; empty if it does not wait
	Error   string  `json:"error,omitempty"`
	Loop    string  `json:"loop,omitempty"`    // the repeated action; empty if the agent is not in a loop
	Context float64 `json:"context,omitempty"` // percentage of the context that is used, as a whole number
}

// Heartbeat returns the heartbeat that reports an agent to a fleet. Its metadata does not contain
// values that change all the time, such as the cost, because the fleet creates an event for each
// change of the metadata.
func Heartbeat(s discover.Agent, host string) coordinator.Heartbeat {
	meta, _ := json.Marshal(Metadata{
		Program: s.Program, Host: host, Source: string(s.Source), ByHand: true, Dir: s.Dir, PID: s.PID, Session: s.Session, Pane: s.Pane,
		Model: s.Model, For: s.For, Error: s.Error, Loop: s.Loop, Context: float64(int(s.Context)),
	}) // encoding Metadata cannot fail
	return coordinator.Heartbeat{
		AgentID: s.ID, Name: s.Name, ClaudeStatus: string(s.Status), Meta: meta, Now: fleet.AgentActivity{Doing: s.Doing, CostUSD: s.CostUSD},
	}
}

// Worker returns the agent in the form that gaffer's commands use to list workers.
func Worker(s discover.Agent, host string, now time.Time) fleet.Worker {
	return fleet.Worker{
		ID: s.ID, Name: s.Name, WorkerStatus: string(coordinator.Online), ClaudeStatus: string(s.Status), ClaudeSince: s.Since, LastSeen: now,
		Host: host, Source: string(s.Source), Dir: s.Dir, For: s.For, ByHand: true, PID: s.PID, Pane: s.Pane,
	}
}

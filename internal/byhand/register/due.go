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

// due is what is to be said: of who is new or does something else, of who was not
// spoken of for a while, and of who is gone.
func due(before map[string]told, list []discover.Sighting, host string, now time.Time) (beats []coordinator.Heartbeat) {
	there := map[string]bool{}
	for _, s := range list {
		h := Heartbeat(s, host)
		there[h.AgentID] = true
		last, known := before[h.AgentID]
		if !known || differ(last.Heartbeat, h) || now.Sub(last.at) >= beatEvery || now.Before(last.at) {
			beats = append(beats, h)
		}
	}
	for id, last := range before {
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

// ByHand is what an agent that a person started says of itself.
type ByHand struct {
	Program string  `json:"program"` // claude, codex or gemini
	Host    string  `json:"host,omitempty"`
	Source  string  `json:"source"` // how its status is known
	ByHand  bool    `json:"by_hand"`
	Dir     string  `json:"dir,omitempty"`
	PID     int     `json:"pid,omitempty"`
	Session string  `json:"session,omitempty"`
	Pane    string  `json:"pane,omitempty"` // of tmux
	Model   string  `json:"model,omitempty"`
	For     string  `json:"for,omitempty"` // what it waits for
	Error   string  `json:"error,omitempty"`
	Loop    string  `json:"loop,omitempty"`    // what it does again and again
	Context float64 `json:"context,omitempty"` // how full it is, in whole percent
}

// Heartbeat is an agent as the protocol has it. What grows all the time, such as
// its cost, is not in it: each change is an event.
func Heartbeat(s discover.Sighting, host string) coordinator.Heartbeat {
	meta, _ := json.Marshal(ByHand{
		Program: s.Program, Host: host, Source: string(s.Source), ByHand: true, Dir: s.Dir, PID: s.PID, Session: s.Session, Pane: s.Pane,
		Model: s.Model, For: s.For, Error: s.Error, Loop: s.Loop, Context: float64(int(s.Context)),
	}) // a struct of texts and numbers is always JSON
	return coordinator.Heartbeat{AgentID: s.ID, Name: s.Name, ClaudeStatus: string(s.Status), Meta: meta}
}

// Worker is an agent as commands list it.
func Worker(s discover.Sighting, host string, now time.Time) fleet.Worker {
	return fleet.Worker{
		ID: s.ID, Name: s.Name, WorkerStatus: string(coordinator.Online), ClaudeStatus: string(s.Status), ClaudeSince: s.Since, LastSeen: now,
		Host: host, Source: string(s.Source), Dir: s.Dir, For: s.For, ByHand: true, PID: s.PID, Pane: s.Pane,
	}
}

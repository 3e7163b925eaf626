package app

import (
	"context"
	"time"
)

// Health is what doctor tells.
type Health struct {
	Database string   `json:"database"`
	Limits   []string `json:"limits"` // what is weaker on this system, in whole sentences
	Agents   []Agent  `json:"agents"`
	Holding  []Holder `json:"holding"` // what holds capacity now
	Orphans  []Orphan `json:"orphans"` // processes that no run knows
	Advice   []string `json:"advice"`  // what to do, in whole sentences
}

// Agent is an agent program and whether it can be used here.
type Agent struct {
	Name    string `json:"name"`
	Program string `json:"program"`
	Path    string `json:"path,omitempty"` // empty if it is not installed
	Version string `json:"version,omitempty"`
}

// Holder is something that holds a slot: an attempt that runs.
type Holder struct {
	Run     string        `json:"run"`
	Task    string        `json:"task"`
	PID     int           `json:"pid"`
	Age     time.Duration `json:"age"`
	State   string        `json:"state"`
	Watched bool          `json:"watched"` // a gaffer looks after it now
}

// Orphan is a process of an attempt that is over or unknown.
type Orphan struct {
	PID     int    `json:"pid"`
	Attempt string `json:"attempt"`
	Command string `json:"command"`
}

// Doctor looks at this machine. With repair it ends what is orphaned.
func (a *App) Doctor(ctx context.Context, repair bool) (Health, error) { panic("soon") }

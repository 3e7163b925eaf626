package workflow

import (
	"time"

	"gaffer/statefile/timestamp"
)

// Level says how full the context window of an agent is.
type Level string

// The levels of a context window.
const (
	Green  Level = "green"
	Yellow Level = "yellow" // at least 70 % of the context window is used
	Red    Level = "red"    // at least 90 % of the context window is used
)

// LevelOf returns the level of a context window of which this percentage is used.
func LevelOf(percent float64) Level {
	switch {
	case percent >= 90:
		return Red
	case percent >= 70:
		return Yellow
	}
	return Green
}

// Standard is the isolation mode of a build if no event of the kind [ContextBoundary] states
// another. An isolation mode says how an agent's context is separated from earlier work, for
// example "fresh session".
const Standard = "standard"

// Health describes the context of a build: its isolation mode (see [Standard]), how full the
// agent's context window is, and when the build's state was last saved.
type Health struct {
	Isolation      string  `json:"isolation"`
	Usage          float64 `json:"usage"` // percentage of the context window that is used
	Level          Level   `json:"level"`
	LastCheckpoint string  `json:"lastCheckpoint,omitempty"`
}

// ContextHealth computes the [Health] of a build's context from the build's events. The parameter
// run may be nil, and usage is the percentage of the context window that is used. If several events
// are of the same kind, the last one in the list counts, even if its timestamp is earlier, because
// clocks may be set back.
func ContextHealth(events []Event, run *BuildRun, usage float64) Health {
	h := Health{Isolation: Standard, Usage: usage, Level: LevelOf(usage)}
	if run != nil {
		h.LastCheckpoint = run.LastCheckpoint
	}
	checkpoint := ""
	for _, e := range events {
		switch e.Kind {
		case ContextBoundary:
			h.Isolation = isolation(e)
		case ContextCheckpointed:
			checkpoint = e.Timestamp
		}
	}
	h.LastCheckpoint = later(h.LastCheckpoint, checkpoint)
	return h
}

// isolation returns the isolation mode that e, an event of the kind ContextBoundary, states. If e
// has no isolation mode, isolation returns the event's summary, because some programs write the
// mode there. If both are empty, it returns "isolated".
func isolation(e Event) string {
	switch {
	case e.IsolationMode != "":
		return e.IsolationMode
	case e.Summary != "":
		return e.Summary
	}
	return "isolated"
}

// later returns the later of two times. If only one of the two is a valid time, it returns the
// valid one.
func later(a, b string) string {
	x, err1 := timestamp.Parse(a, time.UTC)
	y, err2 := timestamp.Parse(b, time.UTC)
	switch {
	case err2 != nil:
		return a
	case err1 != nil || y.After(x):
		return b
	}
	return a
}

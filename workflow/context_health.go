package workflow

import (
	"time"

	"gaffer/statefile/timestamp"
)

// Level says how full an agent's context is.
type Level string

// The levels of a context.
const (
	Green  Level = "green"
	Yellow Level = "yellow" // at least 70 % of the context is used
	Red    Level = "red"    // at least 90 % of the context is used
)

// LevelOf returns the level of a context with the given usage in percent.
func LevelOf(percent float64) Level {
	switch {
	case percent >= 90:
		return Red
	case percent >= 70:
		return Yellow
	}
	return Green
}

// Standard is the isolation mode of a build whose feed has no event of the kind ContextBoundary.
const Standard = "standard"

// Health describes the context of a build: its isolation mode, how full it is, and its
// last checkpoint.
type Health struct {
	Isolation      string  `json:"isolation"`
	Usage          float64 `json:"usage"` // percentage of the context in use
	Level          Level   `json:"level"`
	LastCheckpoint string  `json:"lastCheckpoint,omitempty"`
}

// ContextHealth computes the health of a build's context. run may be nil. usage is the used part of
// the context, in percent. The last event in the feed counts as the most recent one, even if its
// time is earlier, because clocks may be set back.
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

// isolation returns the isolation mode in a boundary event. Some programs write the mode only in
// the event's summary. If that is empty too, the mode is "isolated".
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

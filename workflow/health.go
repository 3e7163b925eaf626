package workflow

import (
	"time"

	"gaffer/statefile/timestamp"
)

// Level is how full a context is.
type Level string

// The levels.
const (
	Green  Level = "green"
	Yellow Level = "yellow" // from 70 %
	Red    Level = "red"    // from 90 %
)

// LevelOf is the level of a context that is used to so many percent.
func LevelOf(percent float64) Level {
	switch {
	case percent >= 90:
		return Red
	case percent >= 70:
		return Yellow
	}
	return Green
}

// Standard is the isolation mode of a build without context boundaries.
const Standard = "standard"

// Health is how the context of a build is doing.
type Health struct {
	Isolation      string  `json:"isolation"`
	Usage          float64 `json:"usage"` // percent
	Level          Level   `json:"level"`
	LastCheckpoint string  `json:"lastCheckpoint,omitempty"`
}

// ContextHealth derives the health from the feed, the run (which may be nil)
// and the context's usage in percent. The order of the feed decides what is
// most recent, not its times: clocks are set back.
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

// isolation is what a boundary says of itself. Programs that give no mode put
// it into the summary.
func isolation(e Event) string {
	switch {
	case e.IsolationMode != "":
		return e.IsolationMode
	case e.Summary != "":
		return e.Summary
	}
	return "isolated"
}

// later is the later of two times, or the one that is a time at all.
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

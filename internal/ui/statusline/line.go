// Package statusline renders a project's status in two or three rows, for agent
// programs that show them under their input. The functions are pure: documents come
// in as bytes, and text goes out. They never return an error, because a status line
// has no room for one. They skip whatever they cannot read.
package statusline

import (
	"gaffer/fleet"
	"gaffer/workflow"
)

// Line holds the contents of the rows. Unknown values are empty. Texts are
// unchanged from the documents; [Render] makes them printable.
type Line struct {
	Project     string   `json:"project"`
	Version     string   `json:"version,omitempty"`
	Branch      string   `json:"branch,omitempty"` // the git branch, or the start of the commit id
	SpecVersion string   `json:"spec_version,omitempty"`
	SpecStatus  string   `json:"spec_status,omitempty"`
	Context     *Context `json:"context,omitempty"`

	Command       string          `json:"command,omitempty"`
	Chunks        *Chunks         `json:"chunks,omitempty"`
	Section       string          `json:"section,omitempty"`
	SectionNumber string          `json:"section_number,omitempty"`
	Score         *workflow.Score `json:"score,omitempty"`
	Ready         *Ready          `json:"ready,omitempty"`
	Untracked     int             `json:"untracked,omitempty"`
	Next          string          `json:"next,omitempty"`
	Derived       bool            `json:"next_derived,omitempty"` // gaffer computed Next, because no document contains it

	Fleet *fleet.Summary `json:"fleet,omitempty"`
}

// Context is the usage of the agent's context, relative to the size at which it is
// compacted.
type Context struct {
	Percent int            `json:"percent"`
	Level   workflow.Level `json:"level"`
}

// Chunks is the progress of a build.
type Chunks struct {
	Completed int `json:"completed"` // number of completed chunks; if no document lists the chunks, the number of the current chunk
	Active    int `json:"active,omitempty"`
	Attempt   int `json:"attempt,omitempty"` // the highest attempt number of the active chunks; omitted below 2
	Failed    int `json:"failed,omitempty"`
	Total     int `json:"total"`
}

// Ready counts the sections of the spec that need no more work.
type Ready struct {
	Ready int `json:"ready"`
	Total int `json:"total"`
}

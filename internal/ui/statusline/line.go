// Package statusline renders a project's status in up to three rows, for agent programs that show
// such rows below their input. The functions are pure: they turn documents, such as state.json,
// into text. They skip what they cannot read, and return no errors, because a status line has no
// room for them.
package statusline

import (
	"gaffer/fleet"
	"gaffer/workflow"
)

// Line holds the contents of the rows of a status line. Unknown values are empty. Texts are the
// same as in the files that they were read from; [Render] makes them printable.
type Line struct {
	Project     string   `json:"project"`
	Version     string   `json:"version,omitempty"`
	Branch      string   `json:"branch,omitempty"` // name of the git branch, or the start of the commit id
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
	Derived       bool            `json:"next_derived,omitempty"` // gaffer computed the field Next, because no document contains the next step

	Fleet *fleet.Summary `json:"fleet,omitempty"`
}

// Context says how full an agent's context window is. Percent is 100 when the window is so full
// that the agent compacts its conversation.
type Context struct {
	Percent int            `json:"percent"`
	Level   workflow.Level `json:"level"`
}

// Chunks is the progress of a build. A chunk is one of the parts in which agents build the project.
type Chunks struct {
	// Completed is the number of completed chunks. If no document lists the chunks, it also counts
	// the chunk that is in progress.
	Completed int `json:"completed"`
	Active    int `json:"active,omitempty"`
	// Attempt is the highest attempt number of the chunks in progress. It is 0 if all of them are
	// in their first attempt.
	Attempt int `json:"attempt,omitempty"`
	Failed  int `json:"failed,omitempty"`
	Total   int `json:"total"`
}

// Ready says how many sections of the project's spec need no more work, and how many sections the
// spec has.
type Ready struct {
	Ready int `json:"ready"`
	Total int `json:"total"`
}

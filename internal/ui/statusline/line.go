// Package statusline says in two or three rows how a project stands: for the
// prompt of an agent program, which shows them under its input. It is pure: it
// is given the documents as bytes and gives back text. Whatever is in them, it
// makes the best of it and reports no error, since a prompt has no place for one.
package statusline

import (
	"gaffer/fleet"
	"gaffer/workflow"
)

// Line is everything that the rows are made of. What is not known is empty. Text
// is as it stands in the documents; [Render] makes it printable.
type Line struct {
	Project     string   `json:"project"`
	Version     string   `json:"version,omitempty"`
	Branch      string   `json:"branch,omitempty"` // or the beginning of a commit
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
	Derived       bool            `json:"next_derived,omitempty"` // Next follows from the rest: nobody wrote it

	Fleet *fleet.Glance `json:"fleet,omitempty"`
}

// Context is how full the agent's context is, of what it can fill before it is
// compacted.
type Context struct {
	Percent int            `json:"percent"`
	Level   workflow.Level `json:"level"`
}

// Chunks is how far a build is.
type Chunks struct {
	Completed int `json:"completed"` // or, if nobody lists the chunks, the one that is worked on
	Active    int `json:"active,omitempty"`
	Attempt   int `json:"attempt,omitempty"` // the highest of the active ones, from 2
	Failed    int `json:"failed,omitempty"`
	Total     int `json:"total"`
}

// Ready is how many sections of the spec are as the spec says.
type Ready struct {
	Ready int `json:"ready"`
	Total int `json:"total"`
}

package fleet

import "time"

// Found is the result of a search.
type Found struct {
	Hits []Hit `json:"hits"`
	// Partial is set if the search took too long and was stopped. Prompts and results of older runs
	// are searched last, so mostly their hits are missing.
	Partial bool `json:"partial,omitempty"`
}

// Hit is a run or a task that a search has found.
type Hit struct {
	Run     string    `json:"run"`
	RunName string    `json:"run_name,omitempty"`
	Project string    `json:"project,omitempty"`
	Created time.Time `json:"created"`        // when the run was submitted
	Task    string    `json:"task,omitempty"` // id of the task; empty if the run itself was found
	Name    string    `json:"name,omitempty"` // name of the task
	Status  Status    `json:"status"`         // status of the task or, if the run itself was found, of the run
	In      HitField  `json:"in"`
	Excerpt string    `json:"excerpt,omitempty"` // a part of the prompt or result around the found words
}

// HitField says where the words of a search were found.
type HitField string

// The values of HitField.
const (
	InName   HitField = "name"   // the id or name of the run or task, or the run's project or plan file
	InPrompt HitField = "prompt" // the task's prompt
	InResult HitField = "result" // the last message of the agent, or what went wrong, in one of the attempts
)

package fleet

import "time"

// Found is the result of a search.
type Found struct {
	Hits []Hit `json:"hits"`
	// Partial is set if the search was stopped because it took too long. Then hits may
	// be missing, most likely those in prompts and results of older runs, which are searched last.
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
	// Status is the status of the task or, if Task is empty, of the run.
	Status  Status   `json:"status"`
	In      HitField `json:"in"`
	Excerpt string   `json:"excerpt,omitempty"` // a part of the prompt or result around a found word
}

// HitField says where the words of a search were found.
type HitField string

// The values of HitField.
const (
	// InName means the id or name of the run or task, or the run's project or plan file.
	InName   HitField = "name"
	InPrompt HitField = "prompt" // the task's prompt
	// InResult means the result of an attempt: the agent's last message, or what went wrong.
	InResult HitField = "result"
)

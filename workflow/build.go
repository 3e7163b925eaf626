package workflow

import (
	"encoding/json"
	"errors"
	"strconv"

	"gaffer/statefile/jsontree"
)

// BuildRun is one autonomous build, kept so that it survives the session that
// began it.
type BuildRun struct {
	RunID            string    `json:"runId"`
	Status           RunStatus `json:"status"`
	StartedAt        string    `json:"startedAt"`
	Plan             Plan      `json:"plan"`
	Chunks           []Chunk   `json:"chunks"`
	ConvergencePhase string    `json:"convergencePhase,omitempty"`
	LastCheckpoint   string    `json:"lastCheckpoint,omitempty"`

	// Forms found in the wild. Read folds ID into RunID.
	ID            string         `json:"id,omitempty"`
	ChunkProgress jsontree.Value `json:"chunkProgress,omitzero"`
}

// RunStatus is how a build stands. Words that the protocol does not know are
// kept as they are.
type RunStatus string

// The run statuses.
const (
	Running      RunStatus = "running"
	RunCompleted RunStatus = "completed"
	Partial      RunStatus = "partial" // ended with some chunks failed
)

// Known reports whether the protocol has the status.
func (s RunStatus) Known() bool { return s == Running || s == RunCompleted || s == Partial }

// Plan is what was approved.
type Plan struct {
	TotalChunks    int      `json:"totalChunks"`
	Priorities     []string `json:"priorities"`
	PrioritySource string   `json:"prioritySource"`
	SpecVersion    string   `json:"specVersion"`

	// Chunks is where some programs keep them. Read moves them to BuildRun.
	Chunks []Chunk `json:"chunks,omitempty"`
}

// Chunk is one piece of a build.
type Chunk struct {
	ID                 ID          `json:"id"`
	Name               string      `json:"name"`
	Status             ChunkStatus `json:"status"`
	Sections           []string    `json:"sections"`
	Scenarios          []string    `json:"scenarios"`
	DependsOn          []ID        `json:"dependsOn"`
	SpecVersionAtBuild string      `json:"specVersionAtBuild,omitempty"`
	Attempt            int         `json:"attempt,omitempty"`
	StartedAt          string      `json:"startedAt,omitempty"`
	CompletedAt        string      `json:"completedAt,omitempty"`
	FailedAt           string      `json:"failedAt,omitempty"`

	// Note says what a person must do, in a chunk that waits for one.
	Note string `json:"note,omitempty"`

	// Names that some programs use for DependsOn and Note. Read folds them into
	// those.
	Deps      []ID   `json:"deps,omitempty"`
	BlockedBy []ID   `json:"blockedBy,omitempty"`
	Notes     string `json:"notes,omitempty"`
}

// Label names the chunk for a person.
func (c Chunk) Label() string {
	label := "Chunk"
	if c.ID != "" {
		label += " " + string(c.ID)
	}
	if c.Name != "" {
		label += ": " + c.Name
	}
	return label
}

// ID is a chunk's id. The protocol's are numbers from 1; programs also use
// strings. Both compare by their text.
type ID string

// DecodeJSON accepts a number or a string.
func (id *ID) DecodeJSON(v jsontree.Value) error {
	switch v.Kind() {
	case jsontree.Number, jsontree.String:
		*id = ID(v.String())
		return nil
	}
	return errors.New("a number or a string")
}

// MarshalJSON writes what looks like a number as the number that the protocol
// wants.
func (id ID) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(id)); err == nil && strconv.Itoa(n) == string(id) {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (id *ID) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*id = ID(text)
		return nil
	}
	var n json.Number
	err := json.Unmarshal(data, &n)
	*id = ID(n)
	return err
}

// settle brings the forms found in the wild to the protocol's.
func (r *BuildRun) settle() {
	if r.RunID == "" {
		r.RunID, r.ID = r.ID, ""
	}
	if len(r.Chunks) == 0 {
		r.Chunks, r.Plan.Chunks = r.Plan.Chunks, nil
	}
	ids := make([]ID, len(r.Chunks))
	for i := range r.Chunks {
		c := &r.Chunks[i]
		ids[i] = c.ID
		if wild := append(c.Deps, c.BlockedBy...); len(c.DependsOn) == 0 && len(wild) > 0 {
			c.DependsOn = wild
		}
		c.Deps, c.BlockedBy = nil, nil
		if c.Note == "" {
			c.Note = c.Notes
		}
		c.Notes = ""
	}
	number(ids)
	for i := range r.Chunks {
		r.Chunks[i].ID = ids[i]
		r.Chunks[i].DependsOn = named(r.Chunks[i].DependsOn, ids)
	}
}

// number gives a chunk without an id its place in the list, counted from 1,
// unless another chunk is called that.
func number(ids []ID) []ID {
	taken := map[ID]bool{}
	for _, id := range ids {
		taken[id] = true
	}
	for i, id := range ids {
		if place := ID(strconv.Itoa(i + 1)); id == "" && !taken[place] {
			ids[i] = place
		}
	}
	return ids
}

// Total is how many chunks the build has.
func (r BuildRun) Total() int { return max(r.Plan.TotalChunks, len(r.Chunks)) }

// Count is how many chunks have one of the statuses.
func (r BuildRun) Count(statuses ...ChunkStatus) int {
	n := 0
	for _, c := range r.Chunks {
		for _, s := range statuses {
			if c.Status == s {
				n++
			}
		}
	}
	return n
}

// Progress is derived from the chunks. The one being worked on counts.
func (r BuildRun) Progress() Progress {
	current := r.Count(Completed)
	if r.Count(Active, Retrying) > 0 {
		current++
	}
	return Progress{Current: current, Total: r.Total()}
}

// Outcome is derived from the chunks: completed if all are; partial if some
// failed and nothing is left that could still run; else running.
func (r BuildRun) Outcome() RunStatus {
	if len(r.Chunks) > 0 && r.Count(Completed) == len(r.Chunks) && r.Total() == len(r.Chunks) {
		return RunCompleted
	}
	stuck := r.stuck()
	for _, c := range r.Chunks {
		if c.Status != Completed && !stuck[c.ID] {
			return Running
		}
	}
	if r.Count(Failed) == 0 {
		return Running
	}
	return Partial
}

// stuck holds the failed chunks and the planned ones that wait for them.
func (r BuildRun) stuck() map[ID]bool {
	waiting := map[ID][]ID{} // by what they wait for
	var found []ID
	for _, c := range r.Chunks {
		if c.Status == Failed {
			found = append(found, c.ID)
		}
		if c.Status.orPlanned() == Planned {
			for _, id := range c.DependsOn {
				waiting[id] = append(waiting[id], c.ID)
			}
		}
	}
	stuck := map[ID]bool{}
	for len(found) > 0 {
		id := found[len(found)-1]
		found = found[:len(found)-1]
		if !stuck[id] {
			stuck[id] = true
			found = append(found, waiting[id]...)
		}
	}
	return stuck
}

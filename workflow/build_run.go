package workflow

import (
	"encoding/json"
	"errors"
	"strconv"

	"gaffer/statefile/jsontree"
)

// BuildRun is one build of a project: agents implement the project's spec in parts, which are
// called chunks. It is stored in state.json, so that the build can be resumed after the program
// that started it has ended.
type BuildRun struct {
	RunID            string    `json:"runId"`
	Status           RunStatus `json:"status"`
	StartedAt        string    `json:"startedAt"`
	Plan             Plan      `json:"plan"`
	Chunks           []Chunk   `json:"chunks"`
	ConvergencePhase string    `json:"convergencePhase,omitempty"`
	LastCheckpoint   string    `json:"lastCheckpoint,omitempty"`

	// gaffer never adds ID and ChunkProgress to a build run, but other programs do. If RunID is
	// empty, Read moves the value of ID to RunID.
	ID            string         `json:"id,omitempty"`
	ChunkProgress jsontree.Value `json:"chunkProgress,omitzero"`
}

// RunStatus is the status of a build. If state.json contains a status that the workflow protocol
// does not define, gaffer keeps it.
type RunStatus string

// The statuses of a build.
const (
	Running      RunStatus = "running"
	RunCompleted RunStatus = "completed"
	Partial      RunStatus = "partial" // the build has ended, and some of its chunks failed
)

// Known reports whether the workflow protocol defines the status.
func (s RunStatus) Known() bool { return s == Running || s == RunCompleted || s == Partial }

// Plan is the approved plan of a build.
type Plan struct {
	TotalChunks    int      `json:"totalChunks"`
	Priorities     []string `json:"priorities"`
	PrioritySource string   `json:"prioritySource"`
	SpecVersion    string   `json:"specVersion"`

	// Some other programs store the chunks of the build here. If BuildRun.Chunks is empty, Read
	// moves these chunks to BuildRun.Chunks.
	Chunks []Chunk `json:"chunks,omitempty"`
}

// Chunk is one part of a build. It implements some sections of the project's spec.
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

	// If the chunk waits for the user, Note says what the user must do.
	Note string `json:"note,omitempty"`

	// Deps, BlockedBy and Notes are names that some other programs use for DependsOn and Note. Read
	// moves their values to DependsOn and Note if these are empty.
	Deps      []ID   `json:"deps,omitempty"`
	BlockedBy []ID   `json:"blockedBy,omitempty"`
	Notes     string `json:"notes,omitempty"`
}

// Label returns the text by which the user recognizes the chunk, such as "Chunk 3: Login".
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

// ID is the id of a chunk. The workflow protocol uses numbers from 1; some other programs use
// strings. Ids are compared as text.
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

// MarshalJSON writes an id that is an integer as a JSON number, as the workflow protocol requires,
// and any other id as a JSON string.
func (id ID) MarshalJSON() ([]byte, error) {
	if n, err := strconv.Atoi(string(id)); err == nil && strconv.Itoa(n) == string(id) {
		return []byte(id), nil
	}
	return json.Marshal(string(id))
}

// UnmarshalJSON accepts a JSON number or a JSON string.
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

// normalize moves values that other programs store under other names to the workflow protocol's
// fields. It also gives ids to chunks without an id, and replaces dependencies such as "chunks 1-3"
// by the ids of these chunks.
func (r *BuildRun) normalize() {
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
	fillIDs(ids)
	for i := range r.Chunks {
		r.Chunks[i].ID = ids[i]
		r.Chunks[i].DependsOn = resolveDependencies(r.Chunks[i].DependsOn, ids)
	}
}

// fillIDs replaces each empty id in ids, the ids of a build's chunks, by its position in the list,
// counted from 1. If another chunk already has the position as its id, the id stays empty. fillIDs
// modifies ids and returns it.
func fillIDs(ids []ID) []ID {
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

// Total returns the number of chunks of the build. If the plan states a larger number of chunks
// than the build lists, Total returns the plan's number.
func (r BuildRun) Total() int { return max(r.Plan.TotalChunks, len(r.Chunks)) }

// Count returns the number of chunks of the build whose status is one of statuses.
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

// Progress computes the progress of the build from the statuses of its chunks. Current is the
// number of completed chunks, plus one if any chunk is active or retrying.
func (r BuildRun) Progress() Progress {
	current := r.Count(Completed)
	if r.Count(Active, Retrying) > 0 {
		current++
	}
	return Progress{Current: current, Total: r.Total()}
}

// Outcome computes the status of the build from the statuses of its chunks. The build is completed
// if all chunks are completed and the plan does not state a larger number of chunks. It is partial
// if some chunks failed, and all others are completed or are planned chunks that depend on a failed
// one. Otherwise it is running.
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

// stuck returns the ids of the build's failed chunks, and of the planned chunks that depend on a
// failed chunk directly or indirectly.
func (r BuildRun) stuck() map[ID]bool {
	waiting := map[ID][]ID{} // for each chunk, the planned chunks that depend on it
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

package workflow

import (
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// ChunkStatus is the status of a chunk, which is a part of a build. If another program has written
// a status that the workflow protocol does not define, gaffer shows this status, and changes it
// only if the user asks for it.
type ChunkStatus string

// The statuses of a chunk.
const (
	Planned   ChunkStatus = "planned"
	Active    ChunkStatus = "active"
	Retrying  ChunkStatus = "retrying"
	Completed ChunkStatus = "completed"
	Failed    ChunkStatus = "failed"
)

// chunkNext maps each status of a chunk to the statuses that may follow it. A chunk becomes planned
// again if it is cancelled or is to be built again.
var chunkNext = map[ChunkStatus][]ChunkStatus{
	Planned:   {Active},
	Active:    {Retrying, Completed, Failed, Planned},
	Retrying:  {Retrying, Completed, Failed, Planned},
	Completed: {Planned},
	Failed:    {Retrying, Planned},
}

// Known reports whether the workflow protocol defines the status.
func (s ChunkStatus) Known() bool { _, ok := chunkNext[s]; return ok }

// orPlanned returns s, or planned if s is empty.
func (s ChunkStatus) orPlanned() ChunkStatus {
	if s == "" {
		return Planned
	}
	return s
}

// inProgress is the status that some other programs write for a chunk instead of active.
const inProgress ChunkStatus = "running"

// Held reports whether gaffer must not build a chunk with this status, because it does not know
// what the status means. Another program or the user has set such a status.
func (s ChunkStatus) Held() bool { return !s.orPlanned().Known() && s != inProgress }

// ChunkUpdate is a change of the status of a chunk.
type ChunkUpdate struct {
	ID ID
	To ChunkStatus
	// SpecVersion is the spec version that a completed chunk was built against. If it is empty,
	// SetChunk uses the field specVersion of state.json or, if that is empty too, the field
	// specVersion of the build's plan.
	SpecVersion string
}

// SetChunk changes the status of a chunk. It also updates the values that depend on the status: the
// attempt number, the times and the spec version of the chunk; the status and the last checkpoint
// of the build run; and the field chunkProgress. It returns a [*TransitionError] if the new status
// may not follow the old one, and a [*NotFoundError] if there is no build run or no such chunk.
func SetChunk(root *jsontree.Node, u ChunkUpdate, now time.Time) error {
	run := root.Child("buildRun")
	if run == nil || run.Kind() == jsontree.Null {
		return &NotFoundError{What: "no build run", Next: "a build run begins when a plan is approved"}
	}
	chunk, err := findChunk(run, u.ID)
	if err != nil {
		return err
	}
	from := ChunkStatus(chunk.Get("status").Text())
	if err := checkChunk(u.ID, from, u.To); err != nil {
		return err
	}
	chunk.Set("status", u.To)
	setTimes(chunk, u, from, specVersion(root, u), timestamp.Format(now))
	if u.To == Completed {
		run.Set("lastCheckpoint", timestamp.Format(now))
	}
	setDerived(root, run)
	return nil
}

// CompleteByHand sets the status of a chunk to completed, because the user has done its work.
// Unlike SetChunk, it accepts a chunk in any status except completed.
func CompleteByHand(root *jsontree.Node, id ID, now time.Time) error {
	run := root.Child("buildRun")
	if run == nil || run.Kind() == jsontree.Null {
		return &NotFoundError{What: "no build run", Next: "a build run begins when a plan is approved"}
	}
	chunk, err := findChunk(run, id)
	if err != nil {
		return err
	}
	from := ChunkStatus(chunk.Get("status").Text())
	if from == Completed {
		return &TransitionError{What: "chunk " + shorten(string(id)), From: string(from), To: string(Completed), Why: "it is completed already"}
	}
	chunk.Set("status", Completed)
	setTimes(chunk, ChunkUpdate{ID: id, To: Completed}, from, specVersion(root, ChunkUpdate{}), timestamp.Format(now))
	run.Set("lastCheckpoint", timestamp.Format(now))
	setDerived(root, run)
	return nil
}

func checkChunk(id ID, from, to ChunkStatus) error {
	may := chunkNext[from.orPlanned()]
	if slices.Contains(may, to) {
		return nil
	}
	e := &TransitionError{What: "chunk " + shorten(string(id)), From: string(from.orPlanned()), To: string(to)}
	for _, s := range may {
		e.May = append(e.May, string(s))
	}
	if !from.orPlanned().Known() {
		e.Why = fmt.Sprintf("%q is not a status of the protocol, so what may follow is not known", shorten(string(from)))
	}
	return e
}

// setTimes updates the values of a chunk that depend on its status: the times, the attempt number
// and the spec version. The parameter from is the previous status, and u.To is the new one. When a
// chunk is completed or failed, it keeps its attempt number, which then says how many attempts it
// took.
func setTimes(chunk *jsontree.Node, u ChunkUpdate, from ChunkStatus, spec, now string) {
	attempt, _ := chunk.Get("attempt").Int()
	switch u.To {
	case Active:
		chunk.Set("attempt", 1)
		chunk.Set("startedAt", now)
	case Retrying:
		chunk.Set("attempt", max(attempt, 1)+1)
		if chunk.Get("startedAt").Absent() {
			chunk.Set("startedAt", now)
		}
	case Completed:
		if spec != "" {
			chunk.Set("specVersionAtBuild", spec)
		}
		chunk.Set("completedAt", now)
	case Failed:
		chunk.Set("failedAt", now)
	case Planned:
		for _, name := range []string{"attempt", "startedAt", "specVersionAtBuild"} {
			clearField(chunk, name)
		}
	}
	switch from {
	case Completed:
		clearField(chunk, "completedAt")
	case Failed:
		clearField(chunk, "failedAt")
	}
}

// setDerived updates the values that depend on the statuses of the chunks: the status of the build
// run, and the field chunkProgress of state.json. It clears chunkProgress if the build has ended.
// It does not change a run status that the workflow protocol does not define, because another
// program or the user has set it.
func setDerived(root, run *jsontree.Node) {
	state, _ := Read(root.Value())
	outcome := state.BuildRun.Outcome()
	if s := state.BuildRun.Status; s == "" || s.Known() {
		run.Set("status", outcome)
	}
	if outcome != Running {
		clearField(root, "chunkProgress")
		return
	}
	progress := root.Child("chunkProgress")
	if progress == nil || progress.Kind() != jsontree.Object {
		root.Set("chunkProgress", state.BuildRun.Progress())
		return
	}
	progress.Set("current", state.BuildRun.Progress().Current)
	progress.Set("total", state.BuildRun.Progress().Total)
}

func specVersion(root *jsontree.Node, u ChunkUpdate) string {
	if u.SpecVersion != "" {
		return u.SpecVersion
	}
	if v := root.Get("specVersion").Text(); v != "" {
		return v
	}
	return root.Get("buildRun").Get("plan").Get("specVersion").Text()
}

// findChunk returns the chunk with this id. It returns an error if there is no such chunk or more
// than one. Some programs store the chunks in the build run, others in its plan; findChunk supports
// both.
func findChunk(run *jsontree.Node, id ID) (*jsontree.Node, error) {
	chunks := chunksOf(run)
	if chunks == nil {
		return nil, &NotFoundError{What: fmt.Sprintf("no chunk %q: the build run has none", shorten(string(id)))}
	}
	ids := idsOf(chunks)
	var found *jsontree.Node
	for i, c := range chunks.Items() {
		if ids[i] != id || c.Kind() != jsontree.Object || id == "" {
			continue
		}
		if found != nil {
			return nil, &ShapeError{At: "buildRun.chunks", Want: "one chunk with the id " + string(id), Found: "a list with several"}
		}
		found = c
	}
	if found == nil {
		return nil, &NotFoundError{What: fmt.Sprintf("no chunk %q; the build run has %s", shorten(string(id)), shorten(joinWords(ids, "and")))}
	}
	return found, nil
}

// idsOf returns the ids of the chunks in a list, in order. For a chunk without an id, it returns
// the chunk's position in the list, counted from 1, or an empty id if another chunk has that id.
func idsOf(chunks *jsontree.Node) []ID {
	ids := make([]ID, 0, chunks.Len())
	for _, c := range chunks.Items() {
		var id ID
		_ = id.DecodeJSON(c.Get("id")) // leave an invalid or missing id empty: fillIDs sets it
		ids = append(ids, id)
	}
	return fillIDs(ids)
}

// chunksOf returns the list of the chunks of a build run. If the run itself contains no chunks,
// chunksOf returns the list in the run's plan. It returns nil if the plan has no such list either.
func chunksOf(run *jsontree.Node) *jsontree.Node {
	if chunks := run.Child("chunks"); chunks != nil && chunks.Kind() == jsontree.Array && chunks.Len() > 0 {
		return chunks
	}
	if plan := run.Child("plan"); plan != nil {
		if chunks := plan.Child("chunks"); chunks != nil && chunks.Kind() == jsontree.Array {
			return chunks
		}
	}
	return nil
}

package workflow

import (
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// ChunkStatus is the status of a chunk. gaffer shows a status that the protocol does not define,
// and never changes it.
type ChunkStatus string

// The statuses of a chunk.
const (
	Planned   ChunkStatus = "planned"
	Active    ChunkStatus = "active"
	Retrying  ChunkStatus = "retrying"
	Completed ChunkStatus = "completed"
	Failed    ChunkStatus = "failed"
)

// chunkNext lists the statuses that may follow each status. A cancelled chunk, and a completed
// chunk whose spec has changed, can become planned again.
var chunkNext = map[ChunkStatus][]ChunkStatus{
	Planned:   {Active},
	Active:    {Retrying, Completed, Failed, Planned},
	Retrying:  {Retrying, Completed, Failed, Planned},
	Completed: {Planned},
	Failed:    {Retrying, Planned},
}

// Known reports whether the protocol defines the status.
func (s ChunkStatus) Known() bool { _, ok := chunkNext[s]; return ok }

// orPlanned returns s, or planned if s is empty.
func (s ChunkStatus) orPlanned() ChunkStatus {
	if s == "" {
		return Planned
	}
	return s
}

// inProgress is the word that another program uses for the status active.
const inProgress ChunkStatus = "running"

// Held reports whether the meaning of the status is unknown, because the protocol does not define
// it. Another program or the user has set it, so gaffer must not change the chunk.
func (s ChunkStatus) Held() bool { return !s.orPlanned().Known() && s != inProgress }

// ChunkUpdate is a change of a chunk's status.
type ChunkUpdate struct {
	ID          ID
	To          ChunkStatus
	SpecVersion string // spec version that a completed chunk was built against; empty means the state's specVersion or else that of the plan
}

// SetChunk changes the status of a chunk. It also sets the values that follow from the new status:
// the chunk's attempt and times, the run's checkpoint and status, and chunkProgress. It returns a
// [*TransitionError] if the new status may not follow the old one, and a [*NotFoundError] if there
// is no build run or no such chunk.
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
// Unlike SetChunk it allows this from every status but completed.
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

// setTimes sets the values of a chunk that follow from its change to the status u.To: the times,
// the attempt number and the spec version. When an attempt ends, the attempt number stays: it then
// says how many attempts the chunk took. from is the previous status.
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

// setDerived sets the values that follow from the chunks' statuses: the status of the run, and
// chunkProgress, which is cleared when the build has ended. It keeps a run status that the protocol
// does not define, because another program or the user set it on purpose.
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

// findChunk returns the chunk with this id. It returns an error if there is none or more than one.
// Programs write the chunks to the run or to its plan; findChunk looks in the list that exists.
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

// idsOf returns the ids of the chunks in a list, in order.
func idsOf(chunks *jsontree.Node) []ID {
	ids := make([]ID, 0, chunks.Len())
	for _, c := range chunks.Items() {
		var id ID
		_ = id.DecodeJSON(c.Get("id")) // an invalid or missing id stays empty, and fillIDs sets it
		ids = append(ids, id)
	}
	return fillIDs(ids)
}

// chunksOf returns the list of chunks of a run, or nil if it has none.
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
